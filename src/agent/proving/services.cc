#include "agent/proving/services.h"

#include <utility>

#include "agent/core/calls/arguments.h"
#include "agent/core/calls/driver_calls.h"
#include "agent/core/memory/content.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/core/thread_state.h"
#include "agent/proving/deferring.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/signals.h"
#include "agent/watching/guard/threads/threads.h"
#include "base/fixed_map.h"
#include "trace/site_key.h"

namespace diogenes::agent {

namespace {

// By function and stack; under the stack lock.
FixedMap<SiteKey, 4096> known_keys;

SiteKey site_key_of(const Call& call) {
  const uint64_t place = uint64_t{call.function} << 32 | call.stack;
  LockGuard guard(stack_lock());
  if (const SiteKey* known = known_keys.find(place)) return *known;
  const SiteKey key = native_site_key(call.driver->symbol, frames_of(call.stack),
                                      [](Frame frame) { return module_at(frame.module()); });
  known_keys.insert(place, key);
  return key;
}

Call& call_of(const CorrectedCall& call) {
  return *const_cast<Call*>(static_cast<const Call*>(call.of_agent));
}

// Where the plan leaves threads as they are, a handler counts for one: it may run while a call waits.
bool may_go_on_elsewhere() {
  uint32_t unused;
  return has_had_threads() || (plan().plan->leaves_threads != 0 && program_has_handlers(unused));
}

void pass_hooks(int change) { thread_state.pass += change; }
bool note_awaiting(bool awaits) { return std::exchange(thread_state.awaits, awaits); }

Undeferred begin_transfer(const CorrectedCall& call, CorrectedTransfer* transfer) {
  return facts::begin_transfer(call_of(call), *transfer);
}
void end_transfer(const CorrectedCall& call, bool given) { facts::end_transfer(call_of(call), given); }
void read_content(const void* from, uint64_t bytes, bool values, TransferContent* content) {
  const Content found = content_of(from, bytes);
  PatternFinder finder;
  if (values) finder.look(from, bytes);
  *content = {found.low, found.high, finder.found().value, finder.found().bytes};
}

// Driver functions that have a place in the plan.
bool named[kCatalogueSize];

void note_named(const CorrectedSite* sites, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t function = 0; function < kCatalogueSize; ++function)
      named[function] |=
          is_corrected(kCatalogue[function]) && (sites[i].key == kEverySite || sites[i].function == function);
}

void* map_file(const char* name, uint64_t bytes) { return map_file_part(name, 0, bytes); }

}  // namespace

void start_corrector() {
  const Plan* header = plan().plan;
  const auto* places = reinterpret_cast<const FollowedPlace*>(plan().hooks + header->hook_count);
  const auto guard = [](Deferral deferral, const CorrectedCall& call) {
    return facts::guard_dirty(deferral, call_of(call));
  };
  const CorrectorServices services{driver_symbol,
                                   diogenes_raw_syscall,
                                   guard,
                                   facts::has_uncovered,
                                   facts::release_deferred,
                                   diogenes_copy,
                                   read_content,
                                   begin_transfer,
                                   end_transfer,
                                   facts::watch_source,
                                   facts::is_unwritten,
                                   facts::end_watch,
                                   pass_hooks,
                                   note_awaiting,
                                   map_file,
                                   header,
                                   reinterpret_cast<const CorrectedSite*>(places + header->followed_count)};
  note_named(services.sites, header->corrected_count);
  the_corrector.start(services);
}

CorrectedCall described(const Call& call) {
  CorrectedCall made{call.driver,
                     call.function,
                     call.arguments.integer,
                     call.arguments.on_stack,
                     0,
                     false,
                     false,
                     (call.flags & kCapturing) != 0,
                     may_go_on_elsewhere(),
                     call.site,
                     call.entered.count,
                     &call};
  made.names_stream = read_stream(call, &made.stream, &made.per_thread);
  return made;
}

void name_site(Call& call) {
  if (named[call.function] && (call.stack = capture_stack()) != kNoStack) call.site = site_key_of(call);
}

}  // namespace diogenes::agent
