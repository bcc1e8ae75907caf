// The driver as a library: how its functions are found, what unknown handles do, threads, forks, cost of
// calls.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "device/clock.h"
#include "driver/gpu_times_source.h"
#include "testing/test_support.h"

namespace diogenes::sim {
namespace {

class Api : public DriverTest {};

TEST_F(Api, ProcAddressesAreTheExports) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(nullptr, library);
  const struct {
    const char *asked, *exported;
    int version;
    cuuint64_t flags;
  } rows[] = {
      {"cuMemcpyDtoH", "cuMemcpyDtoH_v2", 12000, 0},
      {"cuMemcpyDtoH", "cuMemcpyDtoH_v2_ptds", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM},
      {"cuLaunchKernel", "cuLaunchKernel", 12000, 0},
      {"cuLaunchKernel", "cuLaunchKernel_ptsz", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM},
      {"cuMemAlloc", "cuMemAlloc_v2", 4000, 0},
      {"cuCtxCreate", "cuCtxCreate_v2", 12000, 0},
      {"cuCtxCreate", "cuCtxCreate_v4", 13000, 0},
      {"cuMemAdvise", "cuMemAdvise", 12010, 0},
      {"cuMemAdvise", "cuMemAdvise_v2", 12020, 0},
      {"cuCtxSynchronize", "cuCtxSynchronize", 12000, 0},
  };
  for (const auto& row : rows) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    EXPECT_EQ(CUDA_SUCCESS, cuGetProcAddress(row.asked, &found, row.version, row.flags, &status));
    EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, status);
    EXPECT_EQ(dlsym(library, row.exported), found) << row.asked;
    EXPECT_NE(nullptr, found);
  }
  void* found = &found;
  CUdriverProcAddressQueryResult status;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &found, 13000, 0, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
  EXPECT_EQ(nullptr, found);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("malloc", &found, 13000, 0, &status));
  dlclose(library);
}

// They run behind the main thread's own destructors.
TEST_F(Api, HandlersOfExitHaveTheMainThreadsContext) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int kThere = 7, kNotThere = 8;
  EXPECT_EXIT(
      {
        atexit([] {
          CUcontext current = nullptr;
          _exit(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current && cuCtxSynchronize() == CUDA_SUCCESS
                    ? kThere
                    : kNotThere);
        });
        exit(0);
      },
      testing::ExitedWithCode(kThere), "");
}

TEST_F(Api, UnknownHandlesAreErrors) {
  int memory = 0;
  const auto stream = reinterpret_cast<CUstream>(&memory);
  const auto event = reinterpret_cast<CUevent>(&memory);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize(event));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(reinterpret_cast<CUcontext>(&memory)));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(reinterpret_cast<CUmodule>(&memory)));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(reinterpret_cast<CUfunction>(&memory), 1, 1, 1, 1, 1, 1,
                                                      0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(busy_for, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(busy_for, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CUfunction function;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "nothing"));
  CUmodule other;
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&other, "hello"));
  EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&other,
                                                           "\x7f"
                                                           "ELF"));
  EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&other, "/no/such/file"));
  CUcontext last;
  OK(cuCtxPopCurrent(&last));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  OK(cuCtxPushCurrent(last));
}

TEST_F(Api, EntriesThatTheSimulatorDoesNotKnowAreNotFound) {
  CUmodule other;
  OK(cuModuleLoadData(&other,
                      ".version 7.0\n.target sm_70\n.visible .entry mine(.param .u64 a)\n{ ret; }\n"
                      ".visible .entry fill(.param .u64 only)\n{ ret; }\n"));
  CUfunction function;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, other, "mine"));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, other, "fill"));  // other parameters
  const char* text;
  OK(cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text));
  EXPECT_NE(nullptr, strstr(text, "kernels.ptx"));
}

TEST_F(Api, LibrariesAndParameters) {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  OK(cuLibraryLoadData(&library, diogenes_kernels_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&kernel, library, "fill"));
  OK(cuKernelGetFunction(&function, kernel));
  const size_t offsets[] = {0, 8, 16, 24}, sizes[] = {8, 4, 8, 8};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset, size;
    OK(cuKernelGetParamInfo(kernel, i, &offset, &size));
    EXPECT_EQ(offsets[i], offset);
    EXPECT_EQ(sizes[i], size);
    OK(cuFuncGetParamInfo(function, i, &offset, &size));
  }
  size_t offset;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(function, 4, &offset, nullptr));
  CUlaunchConfig configuration = {1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, 0};
  CUdeviceptr device;
  OK(cuMemAlloc(&device, 4));
  uint32_t value = 11;
  uint64_t words = 1, ns = 0;
  void* parameters[] = {&device, &value, &words, &ns};
  OK(cuLaunchKernelEx(&configuration, reinterpret_cast<CUfunction>(kernel), parameters, nullptr));
  EXPECT_EQ(11u, word_at(device));
  OK(cuLibraryUnload(library));
}

TEST_F(Api, PrimaryContext) {
  CUcontext primary, again;
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(primary, again);
  OK(cuDevicePrimaryCtxRelease(0));
  unsigned flags;
  int active;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(1, active);
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(0, active);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(primary));
}

TEST_F(Api, AForkedChildGetsAnErrorAndDoesNotHang) {
  hold();
  const pid_t child = fork();
  if (child == 0)
    _exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0
                                                                                                      : 1);
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  release();
  OK(cuCtxSynchronize());
}

TEST_F(Api, ManyThreads) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 12; ++number)
    threads.emplace_back([&, number] {
      const auto check = [&](CUresult result) { failures += result != CUDA_SUCCESS; };
      check(cuCtxSetCurrent(context));
      CUstream stream;
      CUevent event;
      check(cuStreamCreate(&stream, number % 2));
      check(cuEventCreate(&event, 0));
      for (int i = 0; i < 60; ++i) {
        CUdeviceptr device;
        uint32_t back = 0, value = static_cast<uint32_t>(number * 1000 + i);
        uint64_t words = 64, ns = 2000;
        check(cuMemAlloc(&device, 256));
        void* parameters[] = {&device, &value, &words, &ns};
        check(cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
        check(cuEventRecord(event, stream));
        check(cuMemcpyDtoHAsync(&back, device + 252, 4, stream));
        failures += back != value;
        check(cuMemsetD32_v2_ptds(device, 1, 64));
        check(i % 3 == 0   ? cuCtxSynchronize()
              : i % 3 == 1 ? cuEventSynchronize(event)
                           : cuStreamSynchronize_ptsz(nullptr));
        check(cuMemFree(device));
      }
      check(cuEventDestroy(event));
      check(cuStreamDestroy(stream));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, failures);
}

// No call takes less than it was measured to take; a busy machine adds what it likes.
double fastest(int rounds, const std::function<void()>& call) {
  double best = 1;
  for (int i = 0; i < rounds; ++i) {
    const double begin = seconds();
    call();
    best = std::min(best, seconds() - begin);
  }
  return best * 1e6;
}
TEST_F(Api, CallsCostAtLeastWhatTheyWereMeasuredToCost) {
  CUdeviceptr device;
  OK(cuMemAlloc(&device, 4096));
  std::vector<char> host(4096);
  EXPECT_GE(fastest(800, [&] { busy(0); }), 2.0);
  OK(cuCtxSynchronize());
  EXPECT_GE(fastest(500, [&] { busy(0), cuCtxSynchronize(); }), 5.8);
  EXPECT_GE(fastest(500, [&] { cuMemcpyHtoD(device, host.data(), 4096); }), 4.7);
  EXPECT_GE(fastest(500, [&] { cuMemcpyDtoH(host.data(), device, 4096); }), 5.6);
  EXPECT_GE(fastest(100,
                    [&] {
                      CUdeviceptr temporary;
                      cuMemAlloc(&temporary, 4096);
                      cuMemFree(temporary);
                    }),
            50);
}

TEST_F(Api, AWaitingDeviceCostsNoCpuTime) {
  busy(300000000);
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = double(after.tv_sec - before.tv_sec) + double(after.tv_nsec - before.tv_nsec) / 1e9;
  EXPECT_LT(used, 0.005);
}

TEST_F(Api, TellsWhenItsWorkRan) {
  const auto& source = *static_cast<const GpuTimesSource*>(table->gpu_times);
  ASSERT_EQ(source.bytes, sizeof(GpuTimesSource));
  busy(100000);  // before start(): told to nobody
  OK(cuCtxSynchronize());
  EXPECT_EQ(source.start(testing::TempDir().c_str()), nullptr);
  busy(100000);  // belongs to no operation
  const int64_t begin = now_ns();
  source.begin(7);
  busy(2000000);
  source.end();
  source.begin(8);
  busy(3000000);
  source.end();
  GpuTime times[4];
  EXPECT_EQ(source.take(times, 4), 0u);  // still running
  OK(cuCtxSynchronize());
  ASSERT_EQ(source.take(times, 4), 2u);
  EXPECT_EQ(times[0].operation, 7u);
  EXPECT_EQ(times[0].end_ns - times[0].begin_ns, 2000000);
  EXPECT_GE(times[0].begin_ns, begin);
  EXPECT_EQ(times[1].operation, 8u);
  EXPECT_EQ(times[1].begin_ns, times[0].end_ns);
  EXPECT_EQ(times[1].end_ns - times[1].begin_ns, 3000000);
  EXPECT_LE(times[1].end_ns, now_ns());
  EXPECT_EQ(times[0].work, GpuWork::kernel);
  EXPECT_NE(times[0].launch, 0u);
  EXPECT_EQ(times[1].launch, times[0].launch) << "the same kernel in the same shape";
  EXPECT_EQ(source.take(times, 4), 0u);
}

// Copies inside the device take the simulator longer than they are modelled. The kernel behind the first one hides that;
// nothing hides it behind the last.
TEST_F(Api, DeviceTimeSlipsWhereNothingFollows) {
  constexpr size_t kBytes = 64 << 20;
  constexpr int64_t kModelled = 1500 + kBytes / 2000;  // ns, at 2 TB/s
  CUdeviceptr from, to;
  OK(cuMemAlloc(&from, kBytes));
  OK(cuMemAlloc(&to, kBytes));
  OK(cuMemsetD8(from, 1, kBytes));
  OK(cuMemsetD8(to, 2, kBytes));
  OK(cuCtxSynchronize());
  const auto& source = *static_cast<const GpuTimesSource*>(table->gpu_times);
  EXPECT_EQ(source.start(testing::TempDir().c_str()), nullptr);
  hold();
  source.begin(1);
  OK(cuMemcpyDtoDAsync(to, from, kBytes, nullptr));
  source.end();
  source.begin(2);
  busy(500000000);
  source.end();
  source.begin(3);
  OK(cuMemcpyDtoDAsync(from, to, kBytes, nullptr));
  source.end();
  release();
  OK(cuCtxSynchronize());
  GpuTime times[4];
  ASSERT_EQ(source.take(times, 4), 3u);
  EXPECT_EQ(times[0].end_ns - times[0].begin_ns, kModelled);
  EXPECT_EQ(times[1].begin_ns, times[0].end_ns);
  EXPECT_EQ(times[1].end_ns - times[1].begin_ns, 500000000);
  EXPECT_EQ(times[2].begin_ns, times[1].end_ns);
  EXPECT_GT(times[2].end_ns - times[2].begin_ns, 10 * kModelled);
  EXPECT_EQ(word_at(to + kBytes - 4), 0x01010101u);
  OK(cuMemFree(from));
  OK(cuMemFree(to));
}

}  // namespace
}  // namespace diogenes::sim
