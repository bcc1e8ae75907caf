// variables: a managed variable of a module, which kernels fill. Its address is asked for, and it is no
// argument of the allocation calls: whose waits are needed is known all the same. Small ones lie behind it,
// in the same block of the driver's; they are looked up without their size, as the runtime does it.
#include <cstring>

#include "cuda_user.h"

static const char kModule[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 8 .b8 results[65536];
.visible .global .attribute(.managed) .align 8 .b8 count[4];
.visible .global .attribute(.managed) .align 8 .b8 flag[4];
)";

struct Filler {
  CUfunction fill = nullptr;
  CUdeviceptr results = 0;
  void operator()(uint32_t value) {
    uint64_t words = kWords, ns = 200'000;
    void* parameters[] = {&results, &value, &words, &ns};
    CHECK(cuLaunchKernel(fill, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
  }
};

// The CPU reads it behind each wait.
[[gnu::noinline]] static uint64_t used(Filler& filler, const void* results) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < 10; ++i) {
    filler(i);
    CHECK(cuStreamSynchronize(nullptr));
    total += sum(results);
  }
  return total;
}

// Nobody does before it is filled again.
[[gnu::noinline]] static void not_used(Filler& filler) {
  for (uint32_t i = 0; i < 10; ++i) {
    filler(i);
    CHECK(cuStreamSynchronize(nullptr));
  }
}

static CUdeviceptr variable(CUmodule module, const char* name) {
  CUdeviceptr address = 0;
  CHECK(cuModuleGetGlobal(&address, nullptr, module, name));
  return address;
}

// One word, which the CPU reads behind each wait.
[[gnu::noinline]] static unsigned counted(const Filler& filler, CUdeviceptr word) {
  unsigned total = 0;
  for (uint32_t i = 0; i < 10; ++i) {
    uint64_t words = 1, ns = 100'000;
    CUdeviceptr into = word;
    void* parameters[] = {&into, &i, &words, &ns};
    CHECK(cuLaunchKernel(filler.fill, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    total += *reinterpret_cast<const volatile uint32_t*>(word);
  }
  return total;
}

int main() {
  const CudaUser user;
  CUmodule module = nullptr, kernels = nullptr;
  Filler filler;
  size_t bytes = 0;
  CHECK(cuModuleLoadData(&module, kModule));
  CHECK(cuModuleLoadData(&kernels, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&filler.fill, kernels, "fill"));
  CHECK(cuModuleGetGlobal(&filler.results, &bytes, module, "results"));
  const auto* results = reinterpret_cast<const void*>(filler.results);
  const uint64_t at_first = sum(results);
  const CUdeviceptr count = variable(module, "count"), flag = variable(module, "flag");
  const uint64_t total = used(filler, results);
  const unsigned words = counted(filler, count) + counted(filler, flag);
  not_used(filler);
  CHECK(cuCtxSynchronize());
  say("%u in words\n", words);
  say("%lu bytes, %lu at first, then %lu and %lu\n", static_cast<unsigned long>(bytes),
      static_cast<unsigned long>(at_first), static_cast<unsigned long>(total),
      static_cast<unsigned long>(sum(results)));
  return 0;
}
