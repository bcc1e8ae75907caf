// What an interpretation keeps while it goes through a trace, shared by its parts: the numbers of threads,
// streams, memories and marks, and where events go.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "analysis/necessity/events.h"
#include "analysis/necessity/memory_table.h"
#include "analysis/necessity/stream_table.h"
#include "analysis/necessity/survey.h"
#include "analysis/run.h"

namespace diogenes::necessity {

// What a damaged or cut trace left open, by cause. It is judged as if anything could have happened there.
struct Unclear {
  uint64_t calls = 0;     // without a CallRecord: what they did is not known
  uint64_t operands = 0;  // of work: the list is lost
  uint64_t streams = 0;   // of work or waits: not known
  uint64_t marks = 0;     // events that were recorded out of sight
  uint64_t watches = 0;   // touched or ended, and never raised
  uint64_t releases = 0;  // of memory that was never seen allocated
  uint64_t threads = 0;   // that touched something, and have no file

  bool operator==(const Unclear&) const = default;
};

// Numbers without gaps, in order of first sight, for whatever names things in a trace.
template <typename Number, typename Key>
class Numbering {
 public:
  Number of(const Key& key) {
    return numbers_.try_emplace(key, Number{static_cast<uint32_t>(numbers_.size())}).first->second;
  }

 private:
  std::unordered_map<Key, Number> numbers_;
};

inline constexpr uint32_t kNoThread = 0xffffffff;  // TouchRecord::thread

struct Tables {
  Tables(const Process& its_process, const Survey& its_survey, EventSink& its_sink)
      : process(its_process), survey(its_survey), sink(its_sink), streams(its_survey) {
    for (const Thread& thread : process.threads) by_ordinal[thread.ordinal] = &thread;
  }

  // Invalid: no such thread file.
  ThreadNumber thread(uint32_t ordinal) {
    if (ordinal == kNoThread) return {};
    if (by_ordinal.contains(ordinal)) return threads.of(ordinal);
    ++unclear.threads;
    return {};
  }

  const Process& process;
  const Survey& survey;
  EventSink& sink;
  StreamTable streams;
  MemoryTable memories;
  Unclear unclear;
  Numbering<ThreadNumber, uint32_t> threads;
  std::unordered_map<uint32_t, const Thread*> by_ordinal;
};

}  // namespace diogenes::necessity
