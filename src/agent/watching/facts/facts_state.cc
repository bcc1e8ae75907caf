#include "agent/watching/facts/facts_state.h"

#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/decoding/operands.h"

namespace diogenes::agent::facts {

alignas(64) static unsigned char storage[sizeof(State)];  // all zeros is the start of every table

State& state() { return *reinterpret_cast<State*>(storage); }

void reset_state() {
  State& all = state();
  all.memory.reset();
  all.graphs.reset();
  all.kernels.reset();
  all.unlisted_memory = all.unlisted_host = all.variables = all.found = false;
  all.shared = 0;
  all.launches = 0;
  all.captures = 0;
  forget_names();
  forget_operands();
}

void share(Allocation& allocation) {
  if (allocation.kind == MemoryKind::device || allocation.shared) return;
  allocation.shared = true;
  ++state().shared;
}

void note_capture(const Call& call) {
  if (call.driver->role != Role::capture) return;
  // EndCapture ends it also where it fails: the capture was invalid.
  if (call.driver->has(Trait::begins_capture) && call.succeeded()) ++state().captures;
  if (call.driver->has(Trait::ends_capture) && state().captures > 0) --state().captures;
}

}  // namespace diogenes::agent::facts
