// What a judgement of a trace's facts could not decide, in counts.
#pragma once
#include <algorithm>
#include <cstdint>

namespace diogenes {

// What a damaged or cut trace left open, by cause. It is judged as if anything could have happened there, so
// it costs findings and makes none wrong.
struct Unclear {
  uint64_t calls = 0;     // without a CallRecord: what they did is not known
  uint64_t operands = 0;  // of work: the list is lost
  uint64_t streams = 0;   // of work or waits: not known
  uint64_t marks = 0;     // CUDA events that were recorded out of sight
  uint64_t watches = 0;   // touched or ended, and never raised
  uint64_t releases = 0;  // of memory that was never seen allocated
  uint64_t threads = 0;   // that touched something, and have no file

  bool operator==(const Unclear&) const = default;
  Unclear& operator+=(const Unclear& other) {
    calls += other.calls;
    operands += other.operands;
    streams += other.streams;
    marks += other.marks;
    watches += other.watches;
    releases += other.releases;
    threads += other.threads;
    return *this;
  }
};

struct Judgement {
  Unclear unclear;
  uint64_t withdrawn = 0;  // verdicts 'not needed' that do not hold with all others together; should be 0
  uint64_t unchecked = 0;  // accesses that this was not checked for: one memory had too many
  uint64_t too_many = 0;   // synchronizations of processes that would take too long to be judged
  uint64_t peers = 0;      // accesses by other processes
  uint64_t devices = 0;    // that move memory unseen, opened by the program
  uint64_t files = 0;      // /proc/PID/mem, opened by any process

  Judgement& operator+=(const Judgement& other) {
    unclear += other.unclear;
    withdrawn += other.withdrawn;
    unchecked += other.unchecked;
    too_many += other.too_many;
    peers += other.peers;
    devices += other.devices;
    files = std::max(files, other.files);  // each process of a host has them
    return *this;
  }
};

}  // namespace diogenes
