// When the program's work ran on the GPU, where the plan asks for it: asked of the simulated driver, or of a
// plug-in that is in the process (driver/gpu_times_source.h); neither is ever required. Each outermost call's
// work carries the id of its operation; work that the agent itself gives, around the call, carries none. What
// has ended is taken every few calls, by the thread that makes them, and written behind its operations: no
// thread of the agent's, nothing to wait for.
#pragma once
#include <cstdint>

namespace diogenes::agent {

// After the driver was initialized. Says in the process file what came of it.
void start_gpu_times();
// Right before and right behind the driver's function. False: the call's work is left out (gpu_time_windows.h).
bool begin_gpu_work(uint32_t stack);
void end_gpu_work();
// Once the operation has been recorded.
void take_gpu_times();
// Nothing more is recorded until the next begin_gpu_work(); what has ended is written. False: not yet, a capture is under way, or
// another thread switches.
bool pause_gpu_times();
void finish_gpu_times();
// In a forked child: the parent's source is not ours.
void forget_gpu_times();

}  // namespace diogenes::agent
