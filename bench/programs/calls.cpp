// What a call of the driver costs the program that makes it, at several depths of the stack: prints a line
// for each, "CALL FRAMES NANOSECONDS". The least of ten batches: what else runs on the machine only adds.
//
//   calls [--calls N]        N: calls in all of each kind and depth, 100,000 unless told
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../examples/common/gpu.h"

namespace {

constexpr int kBatches = 10;

double now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Target {
  example::Gpu& gpu;
  CUdeviceptr data = 0;
  CUevent event = nullptr;
  float* host = nullptr;
  char pageable[64] = {};
};

using Call = void (*)(Target&);
struct NamedCall {
  const char* name;
  Call call;
  int at_once;  // calls between two waits for the device, so that no queue is full
};

const NamedCall kCalls[] = {
    {"cuCtxGetDevice",
     [](Target&) {
       CUdevice device;
       CHECK(cuCtxGetDevice(&device));
     },
     1'000'000},
    {"cuCtxSynchronize", [](Target&) { CHECK(cuCtxSynchronize()); }, 1'000'000},
    {"cuStreamSynchronize", [](Target&) { CHECK(cuStreamSynchronize(nullptr)); }, 1'000'000},
    {"cuStreamQuery", [](Target&) { CHECK(cuStreamQuery(nullptr)); }, 1'000'000},
    {"cuEventQuery", [](Target& target) { CHECK(cuEventQuery(target.event)); }, 1'000'000},
    {"cuEventSynchronize", [](Target& target) { CHECK(cuEventSynchronize(target.event)); }, 1'000'000},
    {"cuEventRecord", [](Target& target) { CHECK(cuEventRecord(target.event, nullptr)); }, 500},
    {"cuLaunchKernel", [](Target& target) { target.gpu.fill(target.data, 1, 4, 0); }, 500},
    {"cuMemcpyHtoD", [](Target& target) { CHECK(cuMemcpyHtoD(target.data, target.pageable, 64)); }, 500},
    {"cuMemcpyDtoH", [](Target& target) { CHECK(cuMemcpyDtoH(target.pageable, target.data, 64)); }, 500},
};

// Time in the calls alone, for each of them.
double batch(Target& target, const NamedCall& named, int calls) {
  double spent = 0;
  for (int done = 0; done < calls;) {
    const int now = std::min(calls - done, named.at_once);
    CHECK(cuCtxSynchronize());
    const double begin = now_ns();
    for (int i = 0; i < now; ++i) named.call(target);
    spent += now_ns() - begin;
    done += now;
  }
  return spent / calls;
}

// One more frame each time, none of which the compiler may leave out.
[[gnu::noinline]] double at_depth(int frames, Target& target, const NamedCall& named, int calls) {
  const double result = frames > 1 ? at_depth(frames - 1, target, named, calls) : batch(target, named, calls);
  asm volatile("" ::: "memory");
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 100'000;
  for (int i = 1; i + 1 < argc; ++i)
    if (!strcmp(argv[i], "--calls")) calls = atoi(argv[i + 1]);
  example::Gpu gpu;
  Target target{gpu};
  CHECK(cuMemAlloc(&target.data, 4096));
  CHECK(cuEventCreate(&target.event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventRecord(target.event, nullptr));
  for (const NamedCall& named : kCalls)
    for (const int frames : {5, 25, 60}) {
      double best = 1e18;
      for (int i = 0; i < kBatches; ++i)
        // main, its caller in libc, _start, and batch() with the function that calls
        best =
            std::min(best, at_depth(std::max(1, frames - 5), target, named, std::max(1, calls / kBatches)));
      std::printf("%s %d %.1f\n", named.name, frames, best);
      std::fflush(stdout);
    }
  return 0;
}
