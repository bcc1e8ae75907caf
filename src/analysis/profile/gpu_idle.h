// When the GPU had nothing to do, and what the thread did meanwhile that gave it its next work. In: a process of a run in which
// it is known how long GPU work took. Out: by thread, the stretches between one piece of GPU work, of any stream, and the next; and a
// walk that cuts them by what the thread did. Before the first piece and behind the last one the GPU is not called idle.
#pragma once
#include <span>
#include <vector>

#include "analysis/program/placed_work.h"
#include "analysis/runs/run.h"

namespace diogenes {

// Nanoseconds on the clock of the operations.
struct IdleStretch {
  int64_t begin = 0, end = 0;
  uint32_t operation = 0;  // that gave the work which ends it
};

struct GpuIdle {
  Nanoseconds phase, idle;  // phase: from the first piece's begin to the last one's end
  std::vector<std::vector<IdleStretch>> by_thread;  // by position in Process::threads; one after the other
};

GpuIdle find_gpu_idle(const Process& process, const replay::Schedule& schedule);

// What a thread does in a part of an idle stretch.
enum class Meanwhile : uint8_t {
  between,    // before a call: its own work, or sleep
  in_call,    // inside a call, not waiting
  wait_over,  // inside a wait for GPU work that has ended
  launching,  // from the begin of the call that gives the next work until that begins
};

struct IdlePart {
  uint32_t operation = 0;  // the call; between: the one behind it
  Meanwhile what{};
  int64_t begin = 0, end = 0;
};

// All of a thread's stretches, cut; in order. What lies before its first call belongs to that call.
std::vector<IdlePart> parts_of(std::span<const IdleStretch> stretches,
                               const std::vector<Operation>& operations);

}  // namespace diogenes
