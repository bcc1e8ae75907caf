#include "truths.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "oracle.h"

namespace diogenes::oracle {
namespace {

constexpr uint64_t kFrameBytes = 48;
constexpr int kPatienceMs = 20'000;  // a busy machine is no program that waits

std::string program() { return built("bin/tests/programs/random-program"); }

struct Wait {
  uint64_t program, operation;
  std::string truth;
};

// Lists waits by the frames through which they are made, whatever function makes them.
class Lister {
 public:
  Lister() {
    std::istringstream lines(printed({program(), "--frames"}));
    std::string what;
    uint64_t number, offset;
    while (lines >> what >> std::dec >> number >> std::hex >> offset)
      (what == "program" ? programs_ : operations_)[number] = offset;
  }
  std::string skip(uint64_t program_number, uint64_t operation) const {
    return "skip all random-program+0x0..0x7fffffff" + range(operations_, operation) +
           range(programs_, program_number) + "\n";
  }

 private:
  // Up to the next frame.
  static std::string range(const std::map<uint64_t, uint64_t>& frames, uint64_t number) {
    const uint64_t begin = frames.at(number);
    uint64_t end = begin + kFrameBytes;
    for (const auto& [unused, other] : frames)
      if (other > begin) end = std::min(end, other);
    std::ostringstream out;
    out << " random-program+0x" << std::hex << begin << "..0x" << end;
    return out.str();
  }
  std::map<uint64_t, uint64_t> programs_, operations_;
};

std::map<std::string, std::string> lines_of(const std::string& output) {
  std::map<std::string, std::string> result;
  std::istringstream lines(output);
  for (std::string seed, seen; lines >> seed >> seen;) result[seed] = seen;
  return result;
}

}  // namespace

TruthCounts try_truths(uint64_t first, uint64_t programs, const std::string& which, uint64_t alone) {
  TruthCounts counts;
  const Lister lister;
  auto command = [&](uint64_t from, uint64_t count) {
    return std::vector<std::string>{program(), std::to_string(from), std::to_string(count), which};
  };
  std::vector<Wait> waits;
  std::istringstream lines(
      printed({program(), "--truth", std::to_string(first), std::to_string(programs), which}));
  std::string kind;
  for (Wait wait; lines >> wait.program >> wait.operation >> kind >> wait.truth;) waits.push_back(wait);

  std::string needless;
  for (const Wait& wait : waits) {
    if (wait.truth != "needless") continue;
    needless += lister.skip(wait.program, wait.operation);
    ++counts.needless;
  }
  const auto right = lines_of(printed(command(first, programs)));
  counts.programs = right.size();
  for (const std::string& list : {std::string(), needless}) {
    const auto seen = lines_of(run_late(command(first, programs), list, kPatienceMs).output);
    for (const auto& [seed, value] : right)
      if (const auto found = seen.find(seed); found == seen.end() || found->second != value)
        counts.changed.push_back("seed " + seed + (list.empty() ? ", nothing left out" : ""));
  }
  for (const Wait& wait : waits) {
    if (wait.truth != "needed" || wait.program >= alone) continue;
    const std::string seed = std::to_string(first + wait.program);
    const auto seen = lines_of(
        run_late(command(first + wait.program, 1), lister.skip(0, wait.operation), kPatienceMs).output);
    ++counts.tried;
    const auto found = seen.find(seed);
    counts.told += found == seen.end() || found->second != right.at(seed);
  }
  return counts;
}

}  // namespace diogenes::oracle
