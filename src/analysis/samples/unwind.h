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
  bool of_cpu =
      true;  // else it was read by a clock (python_readings.h): what it does not see may have had the CPU
};

// Takes the agent's frames out: a function of libc that comes through it is the program's call. False: the agent itself was
// interrupted, which is time of recording. What it calls in libc for its own sake is not told from the program's.
bool take_agent_out(const ProcessTrace& process, std::vector<Frame>& frames);

// Of this process alone, by time; without those that found the agent.
std::vector<UnwoundSample> unwind(const ProcessTrace& process, std::span<const CpuSample> samples);

}  // namespace diogenes
