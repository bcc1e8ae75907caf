// Calls return what they return without a tool, but for the id of a range of that name, which is given back to us, and for
// registered strings, whose handle is a hash. All domains share one stack of a thread: ranges are taken to lie in each other,
// whichever domains they are of. Names of wide characters are not heard.
#include "agent/hooks/nvtx_ranges.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/nvtx_abi.h"
#include "base/memory_probe.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

using namespace nvtx;

constexpr RangeId kRegionId = 1;  // of every range of that name

std::atomic<uint64_t> region{0};  // its name's hash; 0: nothing is recorded
std::atomic<uint64_t> others[32];

// Cut behind what a region's name may have: a longer name is none.
using Name = char[kMostRegionBytes + 2];

// Programs may give what is no string: without a tool, nobody reads it.
bool read_name(const char* from, Name& name) {
  size_t length = 0;
  while (length < sizeof name - 1) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(from) + length;
    const size_t in_page = kProbedPage - at % kProbedPage, room = sizeof name - 1 - length;
    const size_t most = in_page < room ? in_page : room;
    if (from == nullptr || !is_there(at)) return false;
    const size_t bytes = strnlen(from + length, most);
    memcpy(name + length, from + length, bytes);
    length += bytes;
    if (bytes < most) break;
  }
  name[length] = 0;
  return true;
}

// FNV-1a; never 0.
uint64_t hash_of(const char* name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *name; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return hash ? hash : 1;
}

void record(RangeEdge edge, const char* name = "") {
  RangeRecord record{.type = RecordType::range, .edge = edge, .at_ns = monotonic_now().count};
  const size_t bytes = strnlen(name, sizeof record.name);
  memcpy(record.name, name, bytes);
  PassThrough pass;
  if (is_appending())
    count_drop(Drop::records_full);
  else
    append(record);
}

// The first ranges of other names are recorded for whoever mistyped his.
void note_other(uint64_t hash, const char* name) {
  for (auto& slot : others) {
    uint64_t there = slot.load(std::memory_order_relaxed);
    if (there == 0 && slot.compare_exchange_strong(there, hash, std::memory_order_relaxed))
      return record(RangeEdge::other, name);
    if (there == hash) return;
  }
}

// 0: no name.
uint64_t named(const char* text) {
  Name name;
  if (!read_name(text, name)) return 0;
  const uint64_t hash = hash_of(name);
  if (hash != region.load(std::memory_order_relaxed)) note_other(hash, name);
  return hash;
}

uint64_t named(const Attributes* from) {
  const auto at = reinterpret_cast<uintptr_t>(from);
  if (!from || !is_there(at) || !is_there(at + sizeof *from - 1) || from->bytes < sizeof *from) return 0;
  if (from->message_type == kAscii) return named(from->message.ascii);
  return from->message_type == kRegistered ? from->message.registered : 0;
}

bool is_region(uint64_t hash) { return hash != 0 && hash == region.load(std::memory_order_relaxed); }

int push(bool enters) {
  ThreadState& state = thread_state;
  ++state.ranges;
  if (enters && state.region_at == 0) {
    state.region_at = state.ranges;
    record(RangeEdge::begin);
  }
  return kNoTracking;
}

// One without a push is ignored, as NVTX does.
int pop() {
  const KeepErrno keep;
  ThreadState& state = thread_state;
  if (state.ranges == 0) return kNoTracking;
  if (state.region_at == state.ranges) {
    record(RangeEdge::end);
    state.region_at = 0;
  }
  --state.ranges;
  return kNoTracking;
}
int domain_pop(Domain) { return pop(); }

template <typename Text>
int push_named(const Text* text) {
  const KeepErrno keep;
  return push(is_region(named(text)));
}
int domain_push(Domain, const Attributes* attributes) { return push_named(attributes); }
int push_wide(const wchar_t*) { return push(false); }

template <typename Text>
RangeId start_named(const Text* text) {
  const KeepErrno keep;
  if (!is_region(named(text))) return 0;
  record(RangeEdge::begin);
  return kRegionId;
}
RangeId domain_start(Domain, const Attributes* attributes) { return start_named(attributes); }

void end(RangeId id) {
  const KeepErrno keep;
  if (id == kRegionId) record(RangeEdge::end);
}
void domain_end(Domain, RangeId id) { end(id); }

StringHandle register_string(Domain, const char* text) {
  const KeepErrno keep;
  return named(text);
}

class Slots {
 public:
  Slots(const CallbacksTable& callbacks, Module module) {
    if (!callbacks.get_module(module, &slots_, &count_) || !slots_) count_ = 0;
  }
  template <typename Callback>
  void set(unsigned slot, Callback callback) const {
    if (slot < count_ && slots_[slot]) *slots_[slot] = reinterpret_cast<Function>(callback);
  }

 private:
  Function** slots_ = nullptr;
  unsigned count_ = 0;
};

int hear(GetExportTable get) {
  const KeepErrno keep;
  const char* wanted = getenv(kRegionVariable);
  const auto* callbacks = static_cast<const CallbacksTable*>(get(kCallbacks));
  if (!wanted || !*wanted || !plan().plan || plan().plan->stage != Stage::tracing || !callbacks ||
      callbacks->bytes < sizeof *callbacks || !callbacks->get_module)
    return 0;
  region.store(hash_of(wanted), std::memory_order_relaxed);
  const Slots core(*callbacks, kCore), core2(*callbacks, kCore2);
  core.set(kRangeStartEx, start_named<Attributes>);
  core.set(kRangeStartA, start_named<char>);
  core.set(kRangeEnd, end);
  core.set(kRangePushEx, push_named<Attributes>);
  core.set(kRangePushA, push_named<char>);
  core.set(kRangePushW, push_wide);
  core.set(kRangePop, pop);
  core2.set(kDomainRangeStartEx, domain_start);
  core2.set(kDomainRangeEnd, domain_end);
  core2.set(kDomainRangePushEx, domain_push);
  core2.set(kDomainRangePop, domain_pop);
  core2.set(kDomainRegisterStringA, register_string);
  return 1;
}

}  // namespace

void forget_ranges() {
  thread_state.region_at = 0;
  for (auto& slot : others) slot.store(0, std::memory_order_relaxed);
}

}  // namespace diogenes::agent

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    diogenes::nvtx::GetExportTable get) {
  return diogenes::agent::hear(get);
}
