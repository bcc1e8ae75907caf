// From samples of the CPU (trace/cpu_samples.h) to stacks: the copied stack is walked by the unwind tables of the files that the
// process had loaded, with elfutils' libdwfl. In: a process's samples and its modules. Out: frames as the trace has
// them, innermost first; a stack that is deeper than what was copied has its inner frames alone.
#pragma once
#include <span>
#include <vector>

#include "base/units.h"
#include "trace/cpu_samples.h"
#include "trace/reader.h"

namespace diogenes {

struct UnwoundSample {
  Nanoseconds at, weight;
  uint32_t tid = 0;
  std::vector<Frame> frames;  // modules of the process; at least the one that was interrupted
};

// Is it the agent's own work, with what it calls in libc? That is time of recording, which is no time of the program's.
bool is_agents_work(const ProcessTrace& process, std::span<const Frame> frames);

// Of this process alone, by time; without those of the agent's work.
std::vector<UnwoundSample> unwind(const ProcessTrace& process, std::span<const CpuSample> samples);

}  // namespace diogenes
