// counted PREFIX: threads that launch, copy and wait, and count each call that has returned (counted.h).
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "counted.h"
#include "kernels_ptx.h"

namespace diogenes::faults {
namespace {

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "counted: error %d\n", static_cast<int>(result));
  _exit(98);
}

// The run, by the folder of its plan: "tracing". Without the tool: "alone".
std::string this_run() {
  const char* plan = getenv("DIOGENES_PLAN");
  std::string folder = plan ? plan : "alone/plan";
  folder.resize(folder.rfind('/'));
  return folder.substr(folder.rfind('/') + 1);
}

Counted& counted_in(const std::string& file) {
  int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, sizeof(Counted)) != 0) _exit(97);
  void* memory = mmap(nullptr, sizeof(Counted), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) _exit(97);
  close(fd);
  return *static_cast<Counted*>(memory);
}

int wait_from(uint64_t depth);
int (*volatile wait_deeper)(uint64_t) = wait_from;  // the compiler makes no loop of it

// Each depth is a stack of its own.
int wait_from(uint64_t depth) {
  if (depth > 0) return wait_deeper(depth - 1) + 1;
  check(cuCtxSynchronize());
  return 1;
}

void work(CUcontext context, CUfunction busy, CountedThread& counted) {
  check(cuCtxSetCurrent(context));
  CUdeviceptr memory = 0;
  check(cuMemAlloc(&memory, copy_bytes(kCycles)));
  std::vector<char> data(copy_bytes(kCycles));
  counted.tid = static_cast<int32_t>(syscall(SYS_gettid));
  uint64_t calls = 0, ns = 20'000;
  void* parameters[] = {&ns};
  // release: whoever sees the count sees that the call had returned.
  auto returned = [&] { counted.returned.store(++calls, std::memory_order_release); };
  for (uint64_t n = 0; n < kCycles; ++n) {
    check(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    returned();
    check(cuMemcpyHtoD(memory, data.data(), copy_bytes(n)));
    returned();
    wait_from(n % kDepths);
    returned();
  }
}

int main(const char* prefix) {
  Counted& counted = counted_in(std::string(prefix) + "." + this_run());
  counted.pid = getpid();
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction busy = nullptr;
  check(cuInit(0));
  check(cuDeviceGet(&device, 0));
  check(cuDevicePrimaryCtxRetain(&context, device));
  check(cuCtxSetCurrent(context));
  check(cuModuleLoadData(&module, diogenes_kernels_ptx));
  check(cuModuleGetFunction(&busy, module, "busy_for"));
  std::vector<std::thread> threads;
  for (CountedThread& thread : counted.threads) threads.emplace_back([&] { work(context, busy, thread); });
  for (std::thread& thread : threads) thread.join();
  puts("counted");
  counted.finished = 1;
  return 0;
}

}  // namespace
}  // namespace diogenes::faults

int main(int argc, char** argv) { return argc == 2 ? diogenes::faults::main(argv[1]) : 96; }
