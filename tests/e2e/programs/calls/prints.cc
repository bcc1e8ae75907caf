// prints: kernels that print, and waits that nobody needs but for what comes out there; and some where
// nothing does.
#include "cuda_user.h"

// Of `__global__ void say(unsigned long n) { printf("a kernel says %lu\\n", n); }`.
static const char kModule[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 printed) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[19] = {97, 32, 107, 101, 114, 110, 101, 108, 32, 115, 97, 121, 115, 32, 37, 108, 117, 10, 0};

.visible .entry say(.param .u64 say_param_0)
{
  .local .align 8 .b8 frame[8];
  .reg .b64 %rd<6>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [say_param_0];
  st.local.u64 [frame], %rd1;
  mov.u64 %rd2, frame;
  cvta.local.u64 %rd3, %rd2;
  mov.u64 %rd4, text;
  cvta.global.u64 %rd5, %rd4;
  {
    .param .b64 param0;
    st.param.b64 [param0], %rd5;
    .param .b64 param1;
    st.param.b64 [param1], %rd3;
    .param .b32 printed;
    call.uni (printed), vprintf, (param0, param1);
    ld.param.b32 %r1, [printed];
  }
  ret;
}
)";

[[gnu::noinline]] static void with_prints(CUfunction say_it, CUfunction busy) {
  for (uint64_t i = 0; i < 10; ++i) {
    uint64_t ns = 200'000;
    void *parameters[] = {&i}, *duration[] = {&ns};
    CHECK(cuLaunchKernel(say_it, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, nullptr, duration, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
  }
}

[[gnu::noinline]] static void without_prints(CUfunction busy) {
  for (int i = 0; i < 10; ++i) {
    uint64_t ns = 200'000;
    void* duration[] = {&ns};
    CHECK(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, nullptr, duration, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
  }
}

int main() {
  const CudaUser user;
  CUmodule module = nullptr, kernels = nullptr;
  CUfunction say_it = nullptr, busy = nullptr;
  CHECK(cuModuleLoadData(&module, kModule));
  CHECK(cuModuleGetFunction(&say_it, module, "say"));
  CHECK(cuModuleLoadData(&kernels, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&busy, kernels, "busy_for"));
  with_prints(say_it, busy);
  without_prints(busy);
  CHECK(cuCtxSynchronize());
  return 0;
}
