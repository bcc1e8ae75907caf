// ranges: waits that nobody needs, inside and outside of NVTX ranges. `HOW` is one of the cases below. NVTX is its header
// where the build found it, else what the header does.
#include <cstring>
#include <string>
#include <thread>

#include "cuda_user.h"

#ifdef WITH_NVTX3
#include <nvtx3/nvToolsExt.h>

static void begin_nvtx() {}
static void push(const char* name) { nvtxRangePushA(name); }
static void push_described(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxRangePushEx(&attributes);
}
static void pop() { nvtxRangePop(); }
static uint64_t start(const char* name) { return nvtxRangeStartA(name); }
static void end(uint64_t id) { nvtxRangeEnd(id); }
static nvtxDomainHandle_t domain;
static void push_registered(const char* name) {
  domain = nvtxDomainCreateA("mine");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, name);
  nvtxDomainRangePushEx(domain, &attributes);
}
static void pop_registered() { nvtxDomainRangePop(domain); }
#else
#include "agent/hooks/testing/nvtx_instance.h"

using diogenes::nvtx::testing::Instance;
static Instance nvtx;
static void begin_nvtx() { nvtx.load(); }
static void push(const char* name) { nvtx.push(name); }
static void push_described(const char* name) { nvtx.push(Instance::named(name)); }
static void pop() { nvtx.pop(); }
static uint64_t start(const char* name) { return nvtx.start(name); }
static void end(uint64_t id) { nvtx.end(id); }
static diogenes::nvtx::Domain domain;
static void push_registered(const char* name) {
  nvtx.push(domain, Instance::named(nvtx.string(domain, name)));
}
static void pop_registered() { nvtx.pop(domain); }
#endif

static uint32_t* data;

// Not the same code as inside(): the compiler would make one function of both.
[[gnu::noinline]] static void outside(CudaUser& user) {
  for (uint32_t i = 0; i < 5; ++i) user.compute_pinned(data, 100 + i);
}

[[gnu::noinline]] static void inside(CudaUser& user) {
  for (uint32_t i = 0; i < 5; ++i) user.compute_pinned(data, i);
}

// Four times, in four ways; a range of another name lies in it and around it.
static void steps(CudaUser& user) {
  push("epoch");
  push("step");
  push("step");
  inside(user);
  pop();
  pop();
  push_described("step");
  push("load");
  inside(user);
  pop();
  pop();
  const uint64_t id = start("step");
  inside(user);
  end(id);
  push_registered("step");
  inside(user);
  pop_registered();
  pop();
}

int main(int count, char** arguments) {
  const std::string how = count > 1 ? arguments[1] : "steps";
  begin_nvtx();
  CudaUser user;
  data = CudaUser::pinned();
  if (how == "unbalanced")
    for (int i = 0; i < 4; ++i) pop();
  if (how == "profiler") CHECK(cuProfilerStart());
  outside(user);
  if (how == "profiler") CHECK(cuProfilerStop());
  if (how == "open") {
    push("step");
    inside(user);
  } else if (how == "thread") {
    push("step");
    std::thread([&] {
      user.use_on_this_thread();
      inside(user);
    }).join();
    pop();
    outside(user);
  } else if (how == "none") {
    inside(user);
  } else {
    steps(user);
    outside(user);
  }
  if (how == "unbalanced") pop();
  say("it went %s\n", how.c_str());
  return 0;
}
