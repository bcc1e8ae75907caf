// The measured table of which calls wait for the GPU, row by row: a kernel is held for 50 ms, the call is
// made, and it must return after the release where it waits and before it where it does not; and it must have
// entered the wait function or not.
#include "testing/test_support.h"

namespace diogenes::sim {
namespace {

constexpr double kHold = 0.05;

struct Row {
  const char* name;
  bool waits;
  bool enters;  // the wait function
  std::function<CUresult(struct Things&)> call;
};

struct Things {
  CUdeviceptr device = 0, other = 0, managed = 0, small = 0, large = 0, spare_managed = 0, async = 0;
  void *pinned = nullptr, *spare_pinned = nullptr;
  std::vector<char> pageable = std::vector<char>(64 << 20);
  std::vector<char> registered = std::vector<char>(1 << 20), unregistered = std::vector<char>(1 << 20);
  CUevent event = nullptr, blocking_event = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr new_device = 0;
  CUlibrary library = nullptr;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << (row.waits ? ": waits" : ": returns at once");
}

constexpr size_t kSmall = 4096, kLarge = 64 << 20;
CUdeviceptr address(void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

class WaitTable : public DriverTest, public testing::WithParamInterface<Row> {};

CUDA_MEMCPY2D plane(void* host, CUdeviceptr device) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = device;
  copy.srcPitch = 256;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.dstPitch = 128;
  copy.WidthInBytes = 128;
  copy.Height = 16;
  return copy;
}

TEST_P(WaitTable, Row) {
  Things things;
  OK(cuMemAlloc(&things.device, kLarge));
  OK(cuMemAlloc(&things.other, kLarge));
  OK(cuMemAlloc(&things.small, kSmall));
  OK(cuMemAlloc(&things.large, kLarge));
  OK(cuMemAllocManaged(&things.managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocManaged(&things.spare_managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocHost(&things.pinned, kLarge));
  OK(cuMemAllocHost(&things.spare_pinned, kSmall));
  OK(cuMemHostRegister(things.registered.data(), things.registered.size(), 0));
  OK(cuMemAllocAsync(&things.async, kSmall, nullptr));
  OK(cuEventCreate(&things.event, 0));
  OK(cuEventCreate(&things.blocking_event, CU_EVENT_BLOCKING_SYNC));
  OK(cuStreamCreate(&things.stream, CU_STREAM_NON_BLOCKING));
  OK(cuModuleLoadData(&things.module, diogenes_kernels_ptx));
  OK(cuCtxSynchronize());

  const std::string name = GetParam().name;
  CUstream on = name.find("on a stream") != name.npos ? things.stream : nullptr;
  hold(on);
  OK(cuEventRecord(things.event, on));
  OK(cuEventRecord(things.blocking_event, on));
  const uint64_t entered = table->waits_entered();
  std::atomic<double> released{0};
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(kHold));
    released = seconds();
    release();
  });
  const CUresult result = GetParam().call(things);
  const double returned = seconds();
  const uint64_t entries = table->waits_entered() - entered;
  releaser.join();
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) << result;
  if (GetParam().waits)
    EXPECT_GE(returned, released);
  else
    EXPECT_LT(returned, released);
  EXPECT_EQ(GetParam().enters, entries > 0) << entries;
  OK(cuCtxSynchronize());
  if (!things.registered.empty()) cuMemHostUnregister(things.registered.data());
  cuMemHostUnregister(things.unregistered.data());
}

#define ROW(name, waits, call)                                                      \
  Row {                                                                             \
    name, waits, waits, []([[maybe_unused]] Things& t) -> CUresult { return call; } \
  }
#define WAITS(name, call) ROW(name, true, call)
#define RETURNS(name, call) ROW(name, false, call)

std::vector<Row> facts() {
  return {

      WAITS("cuCtxSynchronize", cuCtxSynchronize()),
      WAITS("cuStreamSynchronize NULL", cuStreamSynchronize(nullptr)),
      WAITS("cuStreamSynchronize on a stream", cuStreamSynchronize(t.stream)),
      WAITS("cuEventSynchronize", cuEventSynchronize(t.event)),
      WAITS("cuEventSynchronize blocking", cuEventSynchronize(t.blocking_event)),
      WAITS("cuMemcpyDtoH pageable 4 KiB", cuMemcpyDtoH(t.pageable.data(), t.device, kSmall)),
      WAITS("cuMemcpyDtoH pageable 64 MiB", cuMemcpyDtoH(t.pageable.data(), t.device, kLarge)),
      WAITS("cuMemcpyDtoH pinned 4 KiB", cuMemcpyDtoH(t.pinned, t.device, kSmall)),
      WAITS("cuMemcpyDtoH pinned 64 MiB", cuMemcpyDtoH(t.pinned, t.device, kLarge)),
      WAITS("cuMemcpyDtoH registered 4 KiB", cuMemcpyDtoH(t.registered.data(), t.device, kSmall)),
      WAITS("cuMemcpy device to host", cuMemcpy(address(t.pageable.data()), t.device, kSmall)),
      WAITS("cuMemcpy2D device to host",
            [](Things& x) {
              const CUDA_MEMCPY2D copy = plane(x.pageable.data(), x.device);
              return cuMemcpy2D(&copy);
            }(t)),
      WAITS("cuMemcpyDtoHAsync pageable 4 KiB",
            cuMemcpyDtoHAsync(t.pageable.data(), t.device, kSmall, nullptr)),
      WAITS("cuMemcpyDtoHAsync pageable 64 MiB",
            cuMemcpyDtoHAsync(t.pageable.data(), t.device, kLarge, nullptr)),
      RETURNS("cuMemcpyDtoHAsync pinned 4 KiB", cuMemcpyDtoHAsync(t.pinned, t.device, kSmall, nullptr)),
      RETURNS("cuMemcpyDtoHAsync pinned 64 MiB", cuMemcpyDtoHAsync(t.pinned, t.device, kLarge, nullptr)),
      WAITS("cuMemcpyHtoD pageable 4 KiB", cuMemcpyHtoD(t.device, t.pageable.data(), kSmall)),
      WAITS("cuMemcpyHtoD pageable 64 MiB", cuMemcpyHtoD(t.device, t.pageable.data(), kLarge)),
      WAITS("cuMemcpyHtoD pinned 4 KiB", cuMemcpyHtoD(t.device, t.pinned, kSmall)),
      RETURNS("cuMemcpyHtoDAsync pageable 4 KiB",
              cuMemcpyHtoDAsync(t.device, t.pageable.data(), kSmall, nullptr)),
      WAITS("cuMemcpyHtoDAsync pageable 64 MiB",
            cuMemcpyHtoDAsync(t.device, t.pageable.data(), kLarge, nullptr)),
      RETURNS("cuMemcpyHtoDAsync pinned 64 MiB", cuMemcpyHtoDAsync(t.device, t.pinned, kLarge, nullptr)),
      RETURNS("cuMemcpyDtoH of 0 bytes, pageable", cuMemcpyDtoH(t.pageable.data(), t.device, 0)),
      RETURNS("cuMemcpyDtoH of 0 bytes, pinned", cuMemcpyDtoH(t.pinned, t.device, 0)),
      RETURNS("cuMemcpyHtoD of 0 bytes", cuMemcpyHtoD(t.device, t.pageable.data(), 0)),
      RETURNS("cuMemcpyDtoHAsync of 0 bytes, pageable",
              cuMemcpyDtoHAsync(t.pageable.data(), t.device, 0, nullptr)),
      RETURNS("cuMemcpyDtoD", cuMemcpyDtoD(t.other, t.device, kSmall)),
      RETURNS("cuMemsetD8 device", cuMemsetD8(t.device, 1, kSmall)),
      RETURNS("cuMemsetD32Async managed", cuMemsetD32Async(t.managed, 1, 16, nullptr)),
      WAITS("cuMemsetD8 managed", cuMemsetD8(t.managed, 1, kSmall)),
      WAITS("cuMemsetD8 pinned", cuMemsetD8(address(t.pinned), 1, kSmall)),
      RETURNS("cuMemAlloc", cuMemAlloc(&t.new_device, kSmall)),
      RETURNS("cuMemHostRegister", cuMemHostRegister(t.unregistered.data(), t.unregistered.size(), 0)),
      RETURNS("cuMemFreeAsync", cuMemFreeAsync(t.async, nullptr)),
      RETURNS("cuStreamDestroy on a stream", cuStreamDestroy(t.stream)),
      RETURNS("cuEventQuery", cuEventQuery(t.event)),
      RETURNS("cuStreamQuery", cuStreamQuery(nullptr)),
      WAITS("cuMemFree 4 KiB", cuMemFree(t.small)),
      WAITS("cuMemFree 64 MiB", cuMemFree(t.large)),
      WAITS("cuMemFree managed", cuMemFree(t.spare_managed)),
      WAITS("cuMemFree while on a stream", cuMemFree(t.small)),
      WAITS("cuMemFreeHost", cuMemFreeHost(t.spare_pinned)),
      WAITS("cuMemHostUnregister", cuMemHostUnregister(t.registered.data())),
      WAITS("cuModuleLoadData", cuModuleLoadData(&t.module, diogenes_kernels_ptx)),
      WAITS("cuModuleUnload", cuModuleUnload(t.module))};
}

INSTANTIATE_TEST_SUITE_P(Facts, WaitTable, testing::ValuesIn(facts()));

// Nothing to wait for, and entered all the same.
TEST_F(DriverTest, WaitFunctionIsEnteredWhenIdle) {
  OK(cuCtxSynchronize());
  const uint64_t entered = table->waits_entered();
  OK(cuCtxSynchronize());
  EXPECT_EQ(entered + 1, table->waits_entered());
}

// ... but not for a stream or an event, which the driver looks at first.
TEST_F(DriverTest, StreamAndEventWaitsAreNotEnteredWhenIdle) {
  CUstream stream;
  CUevent spinning, blocking;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&spinning, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&blocking, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
  busy(1000, stream);
  OK(cuEventRecord(spinning, stream));
  OK(cuEventRecord(blocking, stream));
  OK(cuCtxSynchronize());
  uint64_t entered = table->waits_entered();
  OK(cuStreamSynchronize(stream));
  OK(cuStreamSynchronize(nullptr));
  OK(cuEventSynchronize(spinning));
  OK(cuEventSynchronize(blocking));
  EXPECT_EQ(entered, table->waits_entered());
  busy(5'000'000, stream);
  OK(cuEventRecord(spinning, stream));
  OK(cuEventSynchronize(spinning));
  busy(5'000'000, stream);
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(entered + 2, table->waits_entered());
}

// Done, though nobody has asked: the wait sees it by the clock, and returns the error of the work.
TEST_F(DriverTest, WaitThatFindsAllDoneReturnsTheWorksError) {
  fill_words(1, 7, 1, 1000);  // no such memory
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const uint64_t entered = table->waits_entered();
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(nullptr));
  EXPECT_EQ(entered, table->waits_entered());
}

TEST_F(DriverTest, PrivateSynchronizeWaitsInTheSameFunction) {
  hold();
  const uint64_t entered = table->waits_entered();
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    release();
  });
  const double begin = seconds();
  OK(table->synchronize());
  EXPECT_GE(seconds() - begin, 0.015);
  EXPECT_EQ(entered + 1, table->waits_entered());
  releaser.join();
}

TEST_F(DriverTest, FullLaunchQueueWaitsElsewhere) {
  hold();
  for (int i = 0; i < 900; ++i) busy(0);
  EXPECT_EQ(0u, table->queue_waits_entered());
  const uint64_t entered = table->waits_entered();
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    release();
  });
  const double begin = seconds();
  for (int i = 0; i < 200; ++i) busy(0);
  EXPECT_GE(seconds() - begin, 0.03);
  EXPECT_GE(table->queue_waits_entered(), 1u);
  EXPECT_EQ(entered, table->waits_entered());
  releaser.join();
}

}  // namespace
}  // namespace diogenes::sim
