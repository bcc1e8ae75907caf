#include "analysis/parts.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "analysis/join.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// What further runs find out: uses, and what became of their guards. The rest the first run knew, which saw
// more.
constexpr uint32_t kOfGuards =
    kMovableReasons | kSmallRange | kExposed | kGuardRefused | kDriverAccess | kNotWhole;

constexpr uint32_t kWatchpoints = 4;  // of a processor

// Which part of each range a process watched in one run, somewhere.
using SeenParts = std::unordered_map<uint64_t, uint8_t>;

SeenParts seen_parts(const Process& process) {
  SeenParts result;
  for (const RangeWatched& record : process.watched)
    if (record.seen) result[record.range] = record.part;
  return result;
}

// What the runs together know of one instance that hangs on small ranges.
struct Watched {
  struct Parts {
    uint32_t count = 0, seen = 0;  // seen: bits
    uint32_t registers = 0;
    uint32_t told = 0;  // bits: runs in which the instance hung on it
  };
  uint32_t reasons = 0;
  std::map<uint64_t, Parts> ranges;
  const SeenParts* looked[kWatchRuns] = {};  // by run; null: it was not there

  void add(uint32_t run, uint32_t found, std::span<const RangeWatched> records, const SeenParts& seen) {
    reasons |= found;
    looked[run] = &seen;
    for (const RangeWatched& record : records) {
      Parts& parts = ranges[record.range];
      parts.count = record.parts;
      parts.registers = std::max<uint32_t>(parts.registers, record.registers);
      parts.told |= 1u << run;
      if (record.seen) parts.seen |= 1u << record.part;
    }
  }
  // Calls `visit` with each part that no run has watched. A run that watched the range, and in
  // which it hung on this instance no more, saw its part used before; that was another instance's business.
  template <typename Visit>
  void for_each_unseen(Visit visit) const {
    for (const auto& [range, parts] : ranges) {
      uint32_t seen = parts.seen;
      for (uint32_t run = 0; run < kWatchRuns; ++run) {
        if (!looked[run] || (parts.told & 1u << run)) continue;
        if (auto found = looked[run]->find(range); found != looked[run]->end()) seen |= 1u << found->second;
      }
      for (uint32_t part = 0; part < parts.count; ++part)
        if (!(seen & 1u << part)) visit(range, part);
    }
  }
  // Nothing is known of ranges whose records are not there.
  bool whole() const {
    bool all = !ranges.empty();
    for_each_unseen([&](uint64_t, uint32_t) { all = false; });
    return all;
  }
  bool in_more_than_one() const {
    return std::any_of(ranges.begin(), ranges.end(),
                       [](const auto& entry) { return entry.second.count > 1; });
  }
};

class Joined {
 public:
  Joined(Run& first, const SiteTable& sites) : first_(first), sites_(sites) {
    std::unordered_map<const Process*, const SeenParts*> seen = seen_parts_of(first);
    for_each_open([&](const Process& process, const Thread& thread, uint32_t index) {
      watched_[&thread.operations[index]].add(0, thread.evidence[index].reasons,
                                              process.watched_by(thread, index), *seen.at(&process));
    });
  }

  void add(const Run& other, uint32_t run) {
    std::unordered_map<const Process*, const SeenParts*> seen = seen_parts_of(other);
    join_operations(first_, other, sites_,
                    [&](Operation* operation, const Process& process, const Thread& thread, uint32_t index) {
                      const Evidence& evidence = thread.evidence[index];
                      if (!operation || !evidence.judged) return;
                      // A use that the first run did not see, where it saw everything: the two differ.
                      auto found = watched_.find(operation);
                      if (found == watched_.end())
                        differing_[operation] |= evidence.reasons & kMovableReasons;
                      else if (!thread.operations[index].has(kFailed))
                        found->second.add(run, evidence.reasons & kOfGuards,
                                          process.watched_by(thread, index), *seen.at(&process));
                    });
  }

  // Of what is not needed as far as is known, and not watched whole: as much as one run can watch at once.
  ToWatch next() const {
    struct Candidate {
      uint64_t range;
      uint32_t part, instances = 0;
    };
    std::map<PartKey, Candidate> open;
    std::unordered_map<uint64_t, std::vector<const Operation*>> having;  // the range, watched or not
    for (const auto& [operation, watched] : watched_) {
      for (const auto& [range, parts] : watched.ranges) having[range].push_back(operation);
      if (watched.reasons & ~kNotWhole) continue;
      watched.for_each_unseen([&](uint64_t range, uint32_t part) {
        Candidate& candidate = open.try_emplace(part_key(range, part), Candidate{range, part}).first->second;
        ++candidate.instances;
      });
    }
    // What most instances hang on comes first.
    std::vector<const Candidate*> order;
    for (const auto& [key, candidate] : open) order.push_back(&candidate);
    std::stable_sort(order.begin(), order.end(), [](const Candidate* one, const Candidate* other) {
      return one->instances > other->instances;
    });
    ToWatch result{{}, open.size()};
    std::set<uint64_t> chosen;
    std::unordered_map<const Operation*, uint32_t> taken;  // watchpoints
    for (const Candidate* candidate : order) {
      const uint64_t range = candidate->range;
      auto registers_at = [&](const Operation* one) { return watched_.at(one).ranges.at(range).registers; };
      const auto& all = having.at(range);
      if (chosen.contains(range) || !std::all_of(all.begin(), all.end(), [&](const Operation* one) {
            return taken[one] + registers_at(one) <= kWatchpoints;
          }))
        continue;
      chosen.insert(range);
      result.parts.push_back(part_key(range, candidate->part));
      for (const Operation* one : all) taken[one] += registers_at(one);
    }
    std::sort(result.parts.begin(), result.parts.end());
    return result;
  }

  void finish() {
    for_each_open([&](const Process&, Thread& thread, uint32_t index) {
      const Watched& watched = watched_.at(&thread.operations[index]);
      uint32_t& reasons = thread.evidence[index].reasons;
      reasons = watched.reasons & ~kNotWhole;
      if (!watched.whole() || (reasons != 0 && watched.in_more_than_one())) reasons |= kSmallRange;
    });
    for (Process& process : first_.processes)
      for (Thread& thread : process.threads)
        for (size_t i = 0; i < thread.operations.size(); ++i)
          if (auto found = differing_.find(&thread.operations[i]); found != differing_.end())
            thread.evidence[i].reasons |= found->second;
  }

 private:
  std::unordered_map<const Process*, const SeenParts*> seen_parts_of(const Run& run) {
    std::unordered_map<const Process*, const SeenParts*> result;
    for (const Process& process : run.processes) result[&process] = &seen_.emplace_back(seen_parts(process));
    return result;
  }

  template <typename Visit>
  void for_each_open(Visit visit) {
    for (Process& process : first_.processes)
      for (Thread& thread : process.threads)
        for (uint32_t i = 0; i < thread.operations.size(); ++i)
          if (thread.evidence[i].judged && (thread.evidence[i].reasons & kNotWhole))
            visit(process, thread, i);
  }

  Run& first_;
  const SiteTable& sites_;
  std::deque<SeenParts> seen_;  // by run and process; they stay where they are
  std::unordered_map<const Operation*, Watched> watched_;
  std::unordered_map<const Operation*, uint32_t> differing_;
};

// Calls `use` with the first run and what all of them together know.
template <typename Use>
Result<Run> with_all_runs(const fs::path& session, SiteTable& sites, Use use) {
  auto first = load_run(session / run_name(Stage::memory_tracing, 1), sites, Load::evidence);
  if (!first) return first;
  Joined joined(*first, sites);
  for (uint32_t run = 1; run < kWatchRuns; ++run) {
    const fs::path folder = session / run_name(Stage::memory_tracing, static_cast<int>(run) + 1);
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) break;
    if (auto other = load_run(folder, sites, Load::evidence)) joined.add(*other, run);
  }
  use(joined);
  return first;
}

}  // namespace

Result<Run> load_memory_tracing_in_parts(const fs::path& session, SiteTable& sites) {
  return with_all_runs(session, sites, [](Joined& joined) { joined.finish(); });
}

Result<ToWatch> parts_to_watch(const fs::path& session) {
  SiteTable sites;
  ToWatch hanging;
  auto run = with_all_runs(session, sites, [&](const Joined& joined) { hanging = joined.next(); });
  if (!run) return run.error();
  return hanging;
}

}  // namespace diogenes
