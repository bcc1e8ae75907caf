// The generator's own truths, proven without the tool: on the adversarial driver, without all the waits that
// it says were needless, its programs print the same; and without one that it says was needed, many do not.
// Not all, because what comes out wrong may be overwritten before anybody looks, the driver may come upon the
// right order by itself, and two kernels that only read count as if they wrote.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace diogenes::oracle {

struct TruthCounts {
  uint64_t programs = 0, needless = 0;
  uint64_t tried = 0,
           told = 0;  // needed waits that were left out one by one; whose programs printed something else
  std::vector<std::string> changed;  // programs that they should not have
};

// Programs from the seed `first` on, as `which` has them (random-program), at most 300; the needed waits of
// the first `alone` of them are tried one by one.
TruthCounts try_truths(uint64_t first, uint64_t programs, const std::string& which, uint64_t alone);

}  // namespace diogenes::oracle
