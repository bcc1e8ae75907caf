// brought: brings 8 MiB in each of 40 steps, and looks at one value; then brings as much ten times, and looks at all. brought
// less: brings that value alone.
#include <string_view>

#include "cuda_user.h"

namespace {
constexpr size_t kMuchBytes = 8 << 20, kMuch = kMuchBytes / sizeof(float), kWanted = kMuch / 2 + 17;

void wait_for(CUstream stream) { CHECK(cuStreamSynchronize(stream)); }
}  // namespace

int main(int count, char** arguments) {
  const bool less = count > 1 && std::string_view(arguments[1]) == "less";
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr one, sums;
  void* memory = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&one, kMuchBytes));
  CHECK(cuMemAlloc(&sums, kMuchBytes));
  CHECK(cuMemsetD32(one, 0x3f800000, kMuch));
  CHECK(cuMemsetD32(sums, 0, kMuch));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemAllocHost(&memory, kMuchBytes));
  const auto* values = static_cast<const float*>(memory);
  double total = 0;
  const auto next = [&] {
    uint64_t words = kMuch, ns = 100'000;
    void* parameters[] = {&sums, &sums, &one, &words, &ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  };
  for (int step = 0; step < 40; ++step) {
    next();
    const size_t first = less ? kWanted : 0, words = less ? 1 : kMuch;
    CHECK(cuMemcpyDtoHAsync(memory, sums + first * sizeof(float), words * sizeof(float), stream));
    wait_for(stream);
    total += static_cast<double>(values[kWanted - first]);
  }
  for (int step = 0; step < 10; ++step) {
    next();
    CHECK(cuMemcpyDtoHAsync(memory, sums, kMuchBytes, stream));
    CHECK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < kMuch; ++i) total += static_cast<double>(values[i]);
  }
  say("%.17g\n", total);
  return 0;
}
