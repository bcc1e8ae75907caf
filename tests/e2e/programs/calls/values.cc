// Results that the CPU waits for, and what becomes of them: `values HOW`. Each is read in a function of its own, named after
// what it does with it; what was computed from them is printed at the end.
#include <fcntl.h>
#include <time.h>

#include <cstring>
#include <vector>

#include "cuda_user.h"

namespace {

int larger = 0;
double total = 0;
std::vector<double> values;
CUfunction busy = nullptr;

// The volatile object is the result; each of these reads it once.
[[gnu::noipa]] void by_a_branch(const volatile float* result) {
  if (*result > 0.5f) ++larger;
}
[[gnu::noipa]] void by_arithmetic(const volatile float* result) {
  total += *result * 2;
  if (total > 3) ++larger;
}
[[gnu::noipa]] void by_a_copy(const volatile float* result) { values.push_back(double{*result}); }
[[gnu::noipa]] void of_the_copies() {
  for (const double value : values)
    if (value > 0.5) ++larger;
}
[[gnu::noipa]] void by_a_kernel(const volatile float* result) {
  uint64_t ns = static_cast<uint64_t>(static_cast<int64_t>(*result * 1000));
  void* parameters[] = {&ns};
  CHECK(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
}
[[gnu::noipa]] void by_a_system_call(const volatile float* result) {
  static const int null = open("/dev/null", O_WRONLY);
  const float copy = *result;
  if (write(null, &copy, sizeof copy) != sizeof copy) _exit(97);
}

void compute_on_the_cpu() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t end = now.tv_sec * 1'000'000'000 + now.tv_nsec + 500'000;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec * 1'000'000'000 + now.tv_nsec < end);
}

}  // namespace

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "branch";
  void (*use)(const volatile float*) = !strcmp(how, "copy")          ? by_a_copy
                                       : !strcmp(how, "arithmetic")  ? by_arithmetic
                                       : !strcmp(how, "kernel")      ? by_a_kernel
                                       : !strcmp(how, "system-call") ? by_a_system_call
                                                                     : by_a_branch;
  CudaUser user;
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&busy, module, "busy_for"));
  CUfunction fill = nullptr;
  CHECK(cuModuleGetFunction(&fill, module, "fill"));
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  uint32_t* result = CudaUser::pinned();
  values.reserve(30);  // of several copies one is watched, and might be that which the vector has left behind
  for (int i = 0; i < 30; ++i) {
    const float value = 0.75f;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint64_t words = kWords, ns = 1'000'000;
    void* parameters[] = {&memory, &bits, &words, &ns};
    CHECK(cuLaunchKernel(fill, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoHAsync(result, memory, kBytes, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    use(reinterpret_cast<const volatile float*>(result));
    compute_on_the_cpu();
  }
  CHECK(cuCtxSynchronize());
  of_the_copies();
  say("%d larger, sum %.2f, %d values\n", larger, total, static_cast<int>(values.size()));
}
