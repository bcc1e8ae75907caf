// An instance of NVTX, as its headers put one into each file that is built with them: tables of pointers, which a tool may
// set, and calls through them, which do nothing where none is set. For tests, and for test programs where there are no
// headers of NVTX.
#pragma once
#include <dlfcn.h>

#include <cstdlib>

#include "agent/hooks/nvtx_abi.h"

namespace diogenes::nvtx::testing {

class Instance {
 public:
  Instance() {
    for (unsigned i = 1; i < kSlots; ++i) core_slots_[i] = &core_[i], core2_slots_[i] = &core2_[i];
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // As the header does it at the first call. False: there is no tool, or it failed.
  bool load() {
    const char* path = getenv("NVTX_INJECTION64_PATH");
    void* library = path ? dlopen(path, RTLD_LAZY) : nullptr;
    return library && load(reinterpret_cast<Initialize>(dlsym(library, kInitializeName)));
  }
  bool load(Initialize initialize) {
    current() = this;
    return initialize && initialize(table) != 0;
  }

  int push(const char* name) { return call<int>(core_[kRangePushA], kNoTracking, name); }
  int push(const wchar_t* name) { return call<int>(core_[kRangePushW], kNoTracking, name); }
  int push(const Attributes& name) { return push(&name); }
  int push(const Attributes* name) { return call<int>(core_[kRangePushEx], kNoTracking, name); }
  int pop() { return call<int>(core_[kRangePop], kNoTracking); }
  RangeId start(const char* name) { return call<RangeId>(core_[kRangeStartA], 0, name); }
  RangeId start(const Attributes& name) { return call<RangeId>(core_[kRangeStartEx], 0, &name); }
  void end(RangeId id) { call<int>(core_[kRangeEnd], 0, id); }

  StringHandle string(Domain domain, const char* text) {
    return call<StringHandle>(core2_[kDomainRegisterStringA], 0, domain, text);
  }
  int push(Domain domain, const Attributes& name) {
    return call<int>(core2_[kDomainRangePushEx], kNoTracking, domain, &name);
  }
  int pop(Domain domain) { return call<int>(core2_[kDomainRangePop], kNoTracking, domain); }
  RangeId start(Domain domain, const Attributes& name) {
    return call<RangeId>(core2_[kDomainRangeStartEx], 0, domain, &name);
  }
  void end(Domain domain, RangeId id) { call<int>(core2_[kDomainRangeEnd], 0, domain, id); }

  static Attributes named(const char* name) {
    Attributes attributes = of_type(kAscii);
    attributes.message.ascii = name;
    return attributes;
  }
  static Attributes named(StringHandle name) {
    Attributes attributes = of_type(kRegistered);
    attributes.message.registered = name;
    return attributes;
  }

 private:
  static constexpr unsigned kSlots = 16;

  static Attributes of_type(MessageType type) {
    Attributes attributes{};
    attributes.version = 3;
    attributes.bytes = sizeof attributes;
    attributes.message_type = type;
    return attributes;
  }

  template <typename Result, typename... Arguments>
  static Result call(Function slot, Result without, Arguments... arguments) {
    return slot ? reinterpret_cast<Result (*)(Arguments...)>(slot)(arguments...) : without;
  }

  static Instance*& current() {
    static Instance* instance = nullptr;
    return instance;
  }
  static int module_of(uint32_t module, Function*** slots, unsigned* count) {
    if (module != kCore && module != kCore2) return 0;
    *slots = module == kCore ? current()->core_slots_ : current()->core2_slots_;
    *count = kSlots;
    return 1;
  }
  static const void* table(uint32_t number) {
    static const CallbacksTable callbacks{sizeof(CallbacksTable), module_of};
    return number == kCallbacks ? &callbacks : nullptr;
  }

  Function core_[kSlots]{}, core2_[kSlots]{};
  Function *core_slots_[kSlots]{}, *core2_slots_[kSlots]{};
};

}  // namespace diogenes::nvtx::testing
