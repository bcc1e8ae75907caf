// Results that the CPU waits for, and what becomes of them: `values HOW`. Each is read in a function of its own, named after
// what it does with it; what was computed from them is printed at the end.
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
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

// Stacks of 4 KiB, right above data of the program's.
constexpr size_t kBelow = 32 * 1024, kStack = 4096;
constexpr unsigned char kData = 0xa5;
alignas(4096) unsigned char data_and_stack[kBelow + kStack];

ucontext_t outside, inside;
const volatile float* lent;
[[gnu::noipa]] void nearly_fill_the_stack() {
  char filled[3 * 1024];
  asm volatile("" : : "r"(filled) : "memory");
  by_a_branch(lent);
}
[[gnu::noipa]] void in_a_coroutine(const volatile float* result) {
  lent = result;
  getcontext(&inside);
  inside.uc_stack = {data_and_stack + kBelow, 0, kStack};
  inside.uc_link = &outside;
  makecontext(&inside, nearly_fill_the_stack, 0);
  swapcontext(&outside, &inside);
}

[[gnu::noipa]] void before_a_handler(const volatile float* result) {
  static const int ready = [] {
    const stack_t alternate{data_and_stack + kBelow, 0, kStack};
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_ONSTACK;
    return sigaltstack(&alternate, nullptr) + sigaction(SIGUSR1, &action, nullptr);
  }();
  total += *result;
  if (ready != 0 || raise(SIGUSR1) != 0) _exit(96);
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
                                       : !strcmp(how, "coroutine")   ? in_a_coroutine
                                       : !strcmp(how, "handler")     ? before_a_handler
                                                                     : by_a_branch;
  memset(data_and_stack, kData, kBelow);
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
  const auto below = std::count(data_and_stack, data_and_stack + kBelow, kData);
  say("%d larger, sum %.2f, %d values, %d bytes below a stack changed\n", larger, total,
      static_cast<int>(values.size()), static_cast<int>(kBelow) - static_cast<int>(below));
}
