// libdiogenes-nvtx.so: hears the program's NVTX ranges and writes down when it is inside those of the name that
// `diogenes run --region` gave. Preloaded in the tracing runs of such a session alone, and named in
// NVTX_INJECTION64_PATH, through which NVTX loads it. Ranges of that name count in every domain.
//
// It does as little as the agent: no heap, no lock, no exception, errno as it was. Calls return what they return without
// a tool, but for handles and ids that are given back to us.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ffm/plan.h"
#include "nvtx/marks_file.h"
#include "nvtx/names.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/process_id.h"
#include "nvtx/started_ranges.h"
#include "nvtx/thread_ranges.h"

namespace diogenes::nvtx {
namespace {

uint64_t region = 0;  // its name's hash; 0: nothing is recorded. Set before main
StartedRanges started;
thread_local ThreadRanges pushed __attribute__((tls_model("initial-exec")));

class KeepErrno {
 public:
  KeepErrno() : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int kept_;
};

__attribute__((constructor)) void begin() {
  const KeepErrno keep;
  const char* plan = getenv(kPlanVariable);
  const char* name = getenv(kRegionVariable);
  Name wanted;
  if (!plan || !name || strlen(name) > kMostRegionBytes || !set_folder(plan)) return;
  wanted.bytes = static_cast<uint32_t>(strlen(name));
  memcpy(wanted.text, name, wanted.bytes);
  keep_process_id();
  region = hash_of(wanted);
}

// A range of this name is entered. True: it is the region.
bool enter(const Name& name) {
  const uint64_t hash = hash_of(name);
  if (hash != region) write_name(hash, &name, true);
  return hash == region;
}

template <typename Char>
bool enter_named(const Char* text) {
  Name name;
  return read_name(text, name) && enter(name);
}

bool enter_described(const Attributes* from) {
  Attributes attributes;
  if (!read_attributes(from, attributes)) return false;
  switch (attributes.message_type) {
    case kAscii:
      return enter_named(attributes.message.ascii);
    case kUnicode:
      return enter_named(attributes.message.unicode);
    case kRegistered:
      if (attributes.message.registered == region) return true;
      if (attributes.message.registered != 0) write_name(attributes.message.registered, nullptr, true);
      return false;
    default:
      return false;
  }
}

int push(Domain domain, bool is_region) {
  if (pushed.push(domain, is_region, process_id())) write_begin();
  return kNoTracking;
}

RangeId start(bool is_region) {
  if (!is_region) return 0;
  const RangeId id = started.start(process_id());
  if (id != 0)
    write_begin();
  else
    count_lost();
  return id;
}

int push_a(const char* name) {
  const KeepErrno keep;
  return push(0, enter_named(name));
}
int push_w(const wchar_t* name) {
  const KeepErrno keep;
  return push(0, enter_named(name));
}
int domain_push_ex(Domain domain, const Attributes* attributes) {
  const KeepErrno keep;
  return push(domain, enter_described(attributes));
}
int push_ex(const Attributes* attributes) { return domain_push_ex(0, attributes); }

int domain_pop(Domain domain) {
  const KeepErrno keep;
  const int64_t at = now_ns();
  if (pushed.pop(domain, process_id())) write_end(at);
  return kNoTracking;
}
int pop() { return domain_pop(0); }

RangeId start_a(const char* name) {
  const KeepErrno keep;
  return start(enter_named(name));
}
RangeId start_w(const wchar_t* name) {
  const KeepErrno keep;
  return start(enter_named(name));
}
RangeId start_ex(const Attributes* attributes) {
  const KeepErrno keep;
  return start(enter_described(attributes));
}
RangeId domain_start_ex(Domain, const Attributes* attributes) { return start_ex(attributes); }

void end(RangeId id) {
  const KeepErrno keep;
  const int64_t at = now_ns();
  if (id != 0 && started.end(id, process_id())) write_end(at);
}
void domain_end(Domain, RangeId id) { end(id); }

template <typename Char>
StringHandle register_string(Domain, const Char* text) {
  const KeepErrno keep;
  Name name;
  if (!read_name(text, name)) return 0;
  const uint64_t hash = hash_of(name);
  if (hash != region) write_name(hash, &name, false);
  return hash;
}

template <typename Char>
Domain create_domain(const Char* text) {
  const KeepErrno keep;
  Name name;
  return read_name(text, name) ? hash_of(name) : 0;
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

int initialize(GetExportTable get) {
  const auto* callbacks = static_cast<const CallbacksTable*>(get(kCallbacks));
  if (region == 0 || !callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->get_module) return 0;
  const Slots core(*callbacks, kCore), core2(*callbacks, kCore2);
  core.set(kRangeStartEx, start_ex);
  core.set(kRangeStartA, start_a);
  core.set(kRangeStartW, start_w);
  core.set(kRangeEnd, end);
  core.set(kRangePushEx, push_ex);
  core.set(kRangePushA, push_a);
  core.set(kRangePushW, push_w);
  core.set(kRangePop, pop);
  core2.set(kDomainRangeStartEx, domain_start_ex);
  core2.set(kDomainRangeEnd, domain_end);
  core2.set(kDomainRangePushEx, domain_push_ex);
  core2.set(kDomainRangePop, domain_pop);
  core2.set(kDomainRegisterStringA, register_string<char>);
  core2.set(kDomainRegisterStringW, register_string<wchar_t>);
  core2.set(kDomainCreateA, create_domain<char>);
  core2.set(kDomainCreateW, create_domain<wchar_t>);
  return 1;
}

}  // namespace
}  // namespace diogenes::nvtx

// One instance of NVTX, at its first call. The program may have several, and call here from several threads.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    diogenes::nvtx::GetExportTable get) {
  const diogenes::nvtx::KeepErrno keep;
  return get ? diogenes::nvtx::initialize(get) : 0;
}
