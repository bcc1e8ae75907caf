// What an interpretation keeps while it goes through a trace, shared by its parts: the numbers of threads,
// streams, memories and marks, and where events go.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>

#include "analysis/necessity/events.h"
#include "analysis/necessity/interpret/survey.h"
#include "analysis/necessity/tables/memory_table.h"
#include "analysis/necessity/tables/stream_table.h"
#include "analysis/necessity/tables/unnamed_memory.h"
#include "analysis/runs/judgement.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

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
  Tables(const Process& its_process, const Survey& its_survey, EventSink& its_sink, bool names_sites)
      : process(its_process),
        survey(its_survey),
        sink(its_sink),
        streams(its_survey),
        with_sites(names_sites) {
    for (const Thread& thread : process.threads) by_ordinal[thread.ordinal] = &thread;
  }

  struct KnownThread {
    uint32_t ordinal = kNoThread;
    ThreadNumber number;
    const Thread* thread = nullptr;  // null: no such thread file
  };
  const KnownThread& known_thread(uint32_t ordinal) {
    KnownThread& recent = recent_[ordinal % recent_.size()];
    if (recent.ordinal == ordinal && recent.thread) return recent;
    const auto found = by_ordinal.find(ordinal);
    if (ordinal == kNoThread || found == by_ordinal.end()) {
      recent = {};
    } else {
      recent = {ordinal, threads.of(ordinal), found->second};
    }
    return recent;
  }
  // Invalid: no such thread file.
  ThreadNumber thread(uint32_t ordinal) {
    if (ordinal == kNoThread) return {};
    const KnownThread& known = known_thread(ordinal);
    unclear.threads += known.thread == nullptr;
    return known.number;
  }

  const Process& process;
  const Survey& survey;
  EventSink& sink;
  StreamTable streams;
  MemoryTable memories;
  UnnamedMemory unnamed;
  Unclear unclear;
  Numbering<ThreadNumber, uint32_t> threads;
  std::unordered_map<uint32_t, const Thread*> by_ordinal;
  const bool with_sites;            // false: the process's operations are not looked at
  bool gave_host_function = false;  // some work so far runs on the host

 private:
  std::array<KnownThread, 16> recent_;  // that were asked for lately
};

}  // namespace diogenes::necessity
