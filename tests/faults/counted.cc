// counted PREFIX [long | limit | fill FILE]: threads that launch, copy and wait, and count each call that has
// returned (counted.h). long: more calls than 1 MiB has records for. limit: the same, and before the first of
// them no file may become larger than 200 KiB. fill: the same, and before that FILE is written until the disk
// is full.
#include <cuda.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

void work(CUcontext context, CUfunction busy, CUdeviceptr memory, uint64_t cycles, CountedThread& counted) {
  check(cuCtxSetCurrent(context));
  std::vector<char> data(copy_bytes(kCycles));
  counted.tid = static_cast<int32_t>(syscall(SYS_gettid));
  uint64_t calls = 0, ns = 20'000;
  void* parameters[] = {&ns};
  // release: whoever sees the count sees that the call had returned.
  auto returned = [&] { counted.returned.store(++calls, std::memory_order_release); };
  for (uint64_t n = 0; n < cycles; ++n) {
    check(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    returned();
    check(cuMemcpyHtoD(memory, data.data(), copy_bytes(n % kCycles)));
    returned();
    wait_from(n % kDepths);
    returned();
  }
}

void limit_files() {
  signal(SIGXFSZ, SIG_DFL);
  const rlimit limit{200 << 10, 200 << 10};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(95);
}

void fill_disk(const char* file) {
  static char zeros[4096];
  int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) _exit(95);
  while (write(fd, zeros, sizeof zeros) > 0) continue;
  close(fd);
}

int main(const char* prefix, const std::string& fault, const char* file) {
  const uint64_t cycles = kCycles * (fault == "long" ? 40 : fault == "limit" ? 20 : 1);
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
  CUdeviceptr memory[kThreads] = {};
  for (CUdeviceptr& one : memory) check(cuMemAlloc(&one, copy_bytes(kCycles)));
  if (fault == "limit") limit_files();
  if (fault == "fill") fill_disk(file);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { work(context, busy, memory[i], cycles, counted.threads[i]); });
  for (std::thread& thread : threads) thread.join();
  puts("counted");
  counted.finished = 1;
  return 0;
}

}  // namespace
}  // namespace diogenes::faults

int main(int argc, char** argv) {
  if (argc < 2) return 96;
  return diogenes::faults::main(argv[1], argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
}
