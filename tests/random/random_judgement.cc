#include "random_judgement.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "oracle.h"

namespace diogenes::oracle {
namespace {

constexpr uint64_t kFrameBytes = 48;

std::string program() { return built("bin/tests/programs/random-program"); }

// Which program of a run, and which of its operations, a call came from.
struct Frames {
  std::map<uint64_t, uint64_t> programs, operations;  // by offset

  Frames() {
    std::istringstream lines(printed({program(), "--frames"}));
    std::string what;
    uint64_t number, offset;
    while (lines >> what >> std::dec >> number >> std::hex >> offset)
      (what == "program" ? programs : operations)[offset] = number;
  }
  static int64_t find(const std::map<uint64_t, uint64_t>& frames, const std::vector<CodePlace>& stack) {
    for (const CodePlace& place : stack) {
      if (place.module != "random-program") continue;
      auto after = frames.upper_bound(place.offset);
      if (after != frames.begin() && place.offset - std::prev(after)->first < kFrameBytes)
        return static_cast<int64_t>(std::prev(after)->second);
    }
    return -1;
  }
};

// "seed 12, operation 3", of a line of the oracle's list.
std::string place_of(const Frames& frames, const std::string& line, uint64_t first) {
  std::vector<CodePlace> stack;
  std::istringstream words(line.substr(0, line.find('#')));
  for (std::string word; words >> word;)
    if (const size_t plus = word.rfind('+'); plus != word.npos)
      stack.push_back({word.substr(0, plus), std::strtoull(word.c_str() + plus + 1, nullptr, 16)});
  const int64_t p = Frames::find(frames.programs, stack), o = Frames::find(frames.operations, stack);
  if (p < 0 || o < 0) return "of no program";
  return "seed " + std::to_string(first + static_cast<uint64_t>(p)) + ", operation " + std::to_string(o);
}

// The advice as it is worded: memory is allocated once and used again, and the waits go that are needless all the same.
// A release's wait that is needed is made elsewhere.
void judge_with_memory_kept(const Frames& frames, std::vector<std::string> command, const Judged& judged,
                            RandomCounts& counts) {
  command.back() = "--again-kept";
  std::string needless;
  std::vector<SiteVerdict> sites = judged.sites;
  for (const SiteVerdict& site : sites) {
    const int64_t p = Frames::find(frames.programs, site.stack),
                  o = Frames::find(frames.operations, site.stack);
    if (site.function.starts_with("cuMemFree") && site.always_unnecessary() && site.needs_new_memory == 0)
      needless += std::to_string(p) + ":" + std::to_string(o) + ",";
  }
  counts.needs_new_memory +=
      std::erase_if(sites, [](const SiteVerdict& site) { return site.needs_new_memory > 0; });
  if (driver() != Driver::simulated) return;
  command.push_back(needless);
  const std::string expected = printed(command);
  const Ran late = run_late(command, late_list(sites));
  if (!expected.empty() && late.output == expected) return;
  ++counts.changed;
  counts.failures.push_back("programs from " + command[1] +
                            ": the output changed with memory kept, without the waits that are " +
                            "needless then\n" + difference(expected, late.output));
}

RandomCounts judge_run(const Frames& frames, uint64_t first, uint64_t count, const std::string& which) {
  RandomCounts counts;
  const std::string truths =
      printed({program(), "--truth", std::to_string(first), std::to_string(count), which});
  if (truths.empty()) return counts;  // none of these programs
  counts.runs = 1;
  const std::vector<std::string> command = {program(), std::to_string(first), std::to_string(count), which};
  const Judged judged = judge(command);
  if (!judged.trouble.empty()) {
    ++counts.changed;
    counts.failures.push_back("programs from " + command[1] + ": " + judged.trouble);
    return counts;
  }
  counts.programs =
      static_cast<uint64_t>(std::count(judged.alone.output.begin(), judged.alone.output.end(), '\n'));
  if (driver() == Driver::simulated) {
    std::string guilty;
    if (const std::string wrong = hold_against_oracle(command, judged, &guilty); !wrong.empty()) {
      ++counts.changed;
      counts.failures.push_back("programs from " + command[1] + " (" + place_of(frames, guilty, first) +
                                "): " + wrong);
    }
  }
  if (which == "--again") {
    judge_with_memory_kept(frames, command, judged, counts);
    return counts;
  }
  std::map<std::pair<uint64_t, uint64_t>, const SiteVerdict*> by_place;
  for (const SiteVerdict& site : judged.sites) {
    const int64_t p = Frames::find(frames.programs, site.stack),
                  o = Frames::find(frames.operations, site.stack);
    if (p >= 0 && o >= 0) by_place[{p, o}] = &site;
  }
  std::set<std::pair<uint64_t, uint64_t>> idle;
  for (const SiteVerdict& site : judged.idle) {
    const int64_t p = Frames::find(frames.programs, site.stack),
                  o = Frames::find(frames.operations, site.stack);
    if (p >= 0 && o >= 0 && !by_place.contains({p, o})) idle.insert({p, o});
  }
  std::istringstream lines(truths);
  uint64_t p, o;
  std::string kind, truth;
  while (lines >> p >> o >> kind >> truth) {
    if (truth == "unsure") {
      ++counts.unsure;
      continue;
    }
    if (idle.contains({p, o})) {
      ++counts.idle;  // found all done and did not wait: nothing is to be gained there
      continue;
    }
    ++counts.waits;
    ++(truth == "needed" ? counts.needed : counts.needless);
    const auto site = by_place.find({p, o});
    const bool called_needless = site != by_place.end() && site->second->always_unnecessary();
    if (truth == "needed") {
      counts.against += called_needless;
      if (called_needless)
        counts.each.push_back("against the generator: seed " + std::to_string(first + p) + " operation " +
                              std::to_string(o) + " " + kind);
      continue;
    }
    counts.called_needless += called_needless;
    if (called_needless) continue;
    ++counts.cautious;
    const std::string reasons = site == by_place.end() ? "not seen" : reason_words(site->second->reasons);
    ++counts.why[kind + " " + reasons];
    ++counts.reasons[reasons];
    counts.each.push_back("cautious: seed " + std::to_string(first + p) + " operation " + std::to_string(o) +
                          " " + kind + " " + reasons);
  }
  return counts;
}

}  // namespace

void RandomCounts::add(const RandomCounts& other) {
  programs += other.programs, runs += other.runs, changed += other.changed, waits += other.waits;
  idle += other.idle;
  needs_new_memory += other.needs_new_memory;
  unsure += other.unsure, needed += other.needed, needless += other.needless;
  called_needless += other.called_needless, cautious += other.cautious, against += other.against;
  for (const auto& [what, count] : other.why) why[what] += count;
  for (const auto& [what, count] : other.reasons) reasons[what] += count;
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  each.insert(each.end(), other.each.begin(), other.each.end());
}

double RandomCounts::cautious_percent() const {
  return needless == 0 ? 0 : 100.0 * static_cast<double>(cautious) / static_cast<double>(needless);
}

std::string RandomCounts::text() const {
  std::ostringstream out;
  char percent[32];
  snprintf(percent, sizeof percent, "%.2f%%", cautious_percent());
  out << programs << " programs, " << changed << " of " << runs << " runs changed; " << waits << " waits ("
      << unsure << " more that the generator is unsure of, " << idle << " that found all done), " << needed
      << " needed; " << needless << " needless: " << called_needless << " called needless, " << cautious
      << " (" << percent << ") called needed\n"
      << against << " called needless and thought needed by the generator (the oracle decides)\n";
  if (needs_new_memory > 0)
    out << needs_new_memory << " places have waits that memory needs that is kept and used again\n";
  for (const auto& [what, count] : why) out << "  " << count << " " << what << "\n";
  return out.str();
}

std::string RandomCounts::json() const {
  nlohmann::ordered_json result;
  result["programs"] = programs, result["runs"] = runs, result["changed"] = changed;
  result["waits"] = waits, result["unsure"] = unsure, result["idle"] = idle, result["needed"] = needed;
  result["needless"] = needless, result["called_needless"] = called_needless, result["cautious"] = cautious;
  result["cautious_percent"] = cautious_percent();
  result["called_needless_thought_needed"] = against;
  result["needs_new_memory"] = needs_new_memory;
  result["cautious_by_reasons"] = reasons;
  result["cautious_by_operation"] = why;
  result["failures"] = failures;
  return result.dump(1) + "\n";
}

RandomCounts judge_random(uint64_t first, uint64_t programs, uint64_t per_run, int jobs,
                          const std::function<void(const RandomCounts&)>& progress,
                          const std::string& wanted) {
  const Frames frames;
  RandomCounts all;
  if (frames.programs.empty() || per_run == 0) {
    all.failures.push_back(program() + " does not run");
    return all;
  }
  const std::vector<const char*> all_programs =
      wanted.empty() ? std::vector{"--no-host-functions", "--host-functions"} : std::vector{wanted.c_str()};
  std::atomic<uint64_t> next{0};
  std::mutex lock;
  auto work = [&] {
    for (;;) {
      const uint64_t done = next.fetch_add(per_run);
      if (done >= programs) return;
      for (const char* which : all_programs) {
        const RandomCounts one = judge_run(frames, first + done, std::min(per_run, programs - done), which);
        const std::lock_guard held(lock);
        all.add(one);
        if (progress) progress(all);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace diogenes::oracle
