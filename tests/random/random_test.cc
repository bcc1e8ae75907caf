// Random programs, measured, and held against the adversarial driver: without the waits that were called
// needless, and with those that were called movable moved, each must print the same. RANDOM_FIRST,
// RANDOM_PROGRAMS: others, and more (10,000 by hand).
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "oracle.h"
#include "run_process.h"

namespace diogenes::oracle {
namespace {

constexpr uint64_t kPerRun = 100, kFrameBytes = 48;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = getenv(name);
  return value ? strtoull(value, nullptr, 10) : otherwise;
}

std::string program() { return built("bin/tests/programs/random-program"); }

std::string printed(const std::vector<std::string>& command) {
  return bench::run_process(command, {.environment = {"LD_LIBRARY_PATH=" + built("lib/simulated")}}).output;
}

struct Frames {
  std::map<uint64_t, uint64_t> programs, operations;  // by offset

  Frames() {
    std::istringstream lines(printed({program(), "--frames"}));
    std::string what;
    uint64_t number, offset;
    while (lines >> what >> std::dec >> number >> std::hex >> offset)
      (what == "program" ? programs : operations)[offset] = number;
  }
  static int64_t find(const std::map<uint64_t, uint64_t>& frames, const SiteVerdict& site) {
    for (const CodePlace& place : site.stack) {
      if (place.module != "random-program") continue;
      auto after = frames.upper_bound(place.offset);
      if (after != frames.begin() && place.offset - std::prev(after)->first < kFrameBytes)
        return static_cast<int64_t>(std::prev(after)->second);
    }
    return -1;
  }
};

struct Counts {
  uint64_t programs = 0, changed = 0, needed = 0, needless = 0, called_needless = 0, cautious = 0,
           unexplained = 0;
  std::map<std::string, uint64_t> why;  // of the cautious
};

TEST(RandomPrograms, PrintTheSameWithoutTheWaitsThatWereCalledNeedless) {
  const uint64_t first = setting("RANDOM_FIRST", 1), programs = setting("RANDOM_PROGRAMS", 300);
  const Frames frames;
  ASSERT_FALSE(frames.programs.empty());
  Counts counts;
  for (uint64_t at = first; at < first + programs; at += kPerRun) {
    const uint64_t count = std::min(kPerRun, first + programs - at);
    const std::vector<std::string> command = {program(), std::to_string(at), std::to_string(count)};
    const Judged judged = judge(command);
    ASSERT_EQ(judged.trouble, "");
    counts.programs += count;
    if (const std::string wrong = hold_against_oracle(command, judged); !wrong.empty()) {
      ++counts.changed;
      ADD_FAILURE() << "programs from " << at << ": " << wrong;
    }
    std::map<std::pair<uint64_t, uint64_t>, const SiteVerdict*> by_place;
    for (const SiteVerdict& site : judged.sites) {
      const int64_t p = Frames::find(frames.programs, site), o = Frames::find(frames.operations, site);
      if (p >= 0 && o >= 0) by_place[{p, o}] = &site;
    }
    std::istringstream lines(printed({program(), "--truth", command[1], command[2]}));
    uint64_t p, o;
    std::string kind, truth;
    while (lines >> p >> o >> kind >> truth) {
      if (truth == "unsure") continue;
      ++(truth == "needed" ? counts.needed : counts.needless);
      const auto site = by_place.find({p, o});
      const bool called_needless = site != by_place.end() && site->second->always_unnecessary();
      counts.called_needless += called_needless;
      counts.unexplained += truth == "needed" && called_needless;
      if (truth == "needed" || called_needless) continue;
      ++counts.cautious;
      ++counts.why[kind + " " + (site == by_place.end() ? "not seen" : reason_words(site->second->reasons))];
    }
  }
  std::cout << counts.programs << " programs, " << counts.changed << " runs changed; "
            << counts.needed + counts.needless << " synchronizations, " << counts.needless
            << " of them needless as the generator has it: " << counts.called_needless << " called needless, "
            << counts.cautious << " needed without need\n"
            << counts.unexplained
            << " called needless and thought needed by the generator (the oracle decides)\n";
  for (const auto& [why, count] : counts.why) std::cout << "  " << count << " " << why << "\n";
  EXPECT_EQ(counts.changed, 0u);
  EXPECT_GT(counts.called_needless, 0u);
}

}  // namespace
}  // namespace diogenes::oracle
