#include "agent/watching/clock_reads.h"

#include "agent/core/agent_code.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

void await_clock_read(ThreadState& state, const Call& call, Nanoseconds now) {
  if (plan().plan->stage != Stage::memory_tracing || (call.flags & kCapturing) ||
      call.id.sequence == OperationId{}.sequence)
    return;
  if (call.driver->role != Role::synchronize && !call.waited_at_all()) return;
  state.returned = call.id;
  state.returned_ns = now.count;
  state.awaits_clock = true;
}

void note_clock_read(uintptr_t caller, Nanoseconds asked) {
  ThreadState& state = thread_state;
  // The agent's handlers read clocks, and so does a private call of the driver's.
  if (state.pass > 0 || state.public_depth > 0 || state.wait_depth > 0 || in_agent_code(caller) ||
      in_driver_code(caller))
    return;
  end_clock_wait(state);
  PassThrough pass;
  append(ClockReadRecord{.type = RecordType::clock_read,
                         .thread = state.returned.thread,
                         .sequence = state.returned.sequence,
                         .after_ns = asked.count - state.returned_ns});
}

}  // namespace diogenes::agent
