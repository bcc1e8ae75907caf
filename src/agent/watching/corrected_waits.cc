#include "agent/watching/corrected_waits.h"

#include <cstring>
#include <utility>

#include "agent/core/agent_code.h"
#include "agent/core/calls/arguments.h"
#include "agent/core/calls/driver_calls.h"
#include "agent/core/memory/content.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/stacks/stack.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/core/thread_state.h"
#include "agent/watching/facts/deferring.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/signals.h"
#include "agent/watching/guard/threads/threads.h"
#include "base/fixed_map.h"
#include "driver/cuda_abi.h"
#include "trace/site_key.h"

namespace diogenes::agent {

namespace {

const Corrector nobody{sizeof(Corrector),
                       [](const CorrectorServices&) { return true; },
                       [](const CorrectedCall&, int32_t*, int64_t*) { return false; },
                       [](const CorrectedCall&, bool) {},
                       [](const CorrectedCall&) { return false; },
                       [](Deferral) { return true; },
                       [](Deferral) { return int64_t{0}; },
                       [](Deferral) {},
                       [](uint64_t, uint16_t, int64_t) {},
                       [](int64_t) {},
                       [] {},
                       [] {},
                       [](const DriverFunction&, uint64_t) { return false; }};

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

const Corrector* corrector = &nobody;
static AddressRange corrector_code;

static Undeferred (*guard_for)(Deferral, const Call&);

void find_corrector(Undeferred (*guard)(Deferral, const Call&), bool (*has_unguarded)(),
                    void (*release)(Deferral)) {
  if (!stage_corrects()) return;
  const Corrector* found = nullptr;
  for_each_image(
      [](const LoadedImage& image, void* to) {
        if (!strstr(image.path, "libdiogenes-")) return;
        if (uintptr_t symbol = image.symbol(kCorrectorSymbol)) {
          *static_cast<uintptr_t*>(to) = symbol;
          corrector_code = image.code();
        }
      },
      &found);
  const Plan* header = plan().plan;
  const auto* places = reinterpret_cast<const FollowedPlace*>(plan().hooks + header->hook_count);
  guard_for = guard;
  const auto guard_of = [](Deferral deferral, const CorrectedCall& call) {
    return guard_for(deferral, call_of(call));
  };
  const CorrectorServices services{driver_symbol,
                                   diogenes_raw_syscall,
                                   guard_of,
                                   has_unguarded,
                                   release,
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
  if (found && found->bytes == sizeof *found && found->start(services)) corrector = found;
}

void before_unseen(uint16_t function, uint64_t first, uintptr_t from) {
  if (in_agent_code(from) || in_driver_code(from) || corrector_code.contains(from)) return;
  PassThrough pass;
  if (corrector->before_unseen(*driver_function(function), first)) facts::note_unseen_call();
}

bool correct_before(Call& call) {
  if (corrector == &nobody) return false;
  if (named[call.function] && (call.stack = capture_stack()) != kNoStack) call.site = site_key_of(call);
  const CorrectedCall made = described(call);
  return corrector->before(made, &call.result, &call.awaited.count);
}

bool makes_room(Call& call) {
  if (call.result != CUDA_ERROR_OUT_OF_MEMORY || corrector == &nobody || call.made_again) return false;
  call.made_again = true;
  return corrector->make_room(described(call));
}

void correct_after(const Call& call) {
  if (corrector != &nobody) corrector->after(described(call), call.succeeded());
}

}  // namespace diogenes::agent
