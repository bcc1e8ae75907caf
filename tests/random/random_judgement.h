// Random programs, judged: what the tool says of their waits beside what the generator knows, and their
// output held against the adversarial driver. For random_test, and for `verdicts`, which runs where no test
// framework is.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace diogenes::oracle {

struct RandomCounts {
  uint64_t programs = 0, runs = 0;
  uint64_t changed = 0;  // runs whose output changed: by measuring, or without the waits called needless
  uint64_t waits = 0;    // that the generator knows all about, `unsure` left out
  uint64_t idle = 0;     // that found all done, and are left out: the driver did not wait
  uint64_t unsure = 0, needed = 0, needless = 0;
  uint64_t called_needless = 0;         // of the needless
  uint64_t cautious = 0;                // needless, and counted as needed
  uint64_t needs_new_memory = 0;        // places with waits that are needless while memory is allocated anew
  uint64_t against = 0;                 // called needless, needed as the generator has it: the oracle decides
  std::map<std::string, uint64_t> why;  // of the cautious: kind of operation and reasons
  std::map<std::string, uint64_t> reasons;  // of the cautious, by reasons alone
  std::vector<std::string> failures;        // what changed an output, or kept a run from being judged
  std::vector<std::string> each;  // "cautious: " or "against the generator: ", seed, operation, kind

  void add(const RandomCounts& other);
  // Of the waits that the generator knows were needless, how many the tool counts as needed.
  double cautious_percent() const;
  std::string text() const;
  std::string json() const;
};

// Programs from the seed `first` on, in runs of `per_run` (at most 300), `jobs` runs at a time. `progress` is
// called after each run, by one thread at a time, with what there is so far. `which`: "", "--hand-over" or "--again" (program.h).
// Those of --again are played once more with memory allocated once, and without the waits that such memory does not need.
RandomCounts judge_random(uint64_t first, uint64_t programs, uint64_t per_run, int jobs,
                          const std::function<void(const RandomCounts&)>& progress = {},
                          const std::string& which = "");

}  // namespace diogenes::oracle
