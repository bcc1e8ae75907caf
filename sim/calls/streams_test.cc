// Order of work: streams, events, the legacy and the per-thread default stream, host functions, graphs.
#include <atomic>

#include "testing/test_support.h"

namespace diogenes::sim {
namespace {

class Streams : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuStreamCreate(&blocking, 0));
    OK(cuStreamCreate(&other, 0));
    OK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuMemAlloc(&data, 1 << 20));
    OK(cuMemsetD8(data, 0, 1 << 20));
    OK(cuCtxSynchronize());
  }
  // Whether work submitted now on `stream` is done within 100 ms.
  bool runs(CUstream stream, bool per_thread = false) {
    CUevent done;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&done, 0));
    EXPECT_EQ(CUDA_SUCCESS, per_thread ? cuEventRecord_ptsz(done, stream) : cuEventRecord(done, stream));
    CUresult state = CUDA_ERROR_NOT_READY;
    for (const double begin = seconds(); state == CUDA_ERROR_NOT_READY && seconds() - begin < 0.1;)
      state = cuEventQuery(done);
    cuEventDestroy(done);
    return state == CUDA_SUCCESS;
  }
  CUstream blocking, other, free_running;
  CUevent event, end;
  CUdeviceptr data;
};

TEST_F(Streams, BlockingStreamsDoNotOrderEachOther) {
  hold(blocking);
  EXPECT_TRUE(runs(other));
  EXPECT_TRUE(runs(free_running));
  EXPECT_FALSE(runs(blocking));
}

TEST_F(Streams, LegacyStreamWaitsForBlockingStreamsAndHoldsThemUp) {
  hold(blocking);
  EXPECT_FALSE(runs(nullptr));
  EXPECT_FALSE(runs(other));  // after the legacy stream's event
  EXPECT_TRUE(runs(free_running));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
  release();
  OK(cuStreamSynchronize(nullptr));
  EXPECT_TRUE(runs(other));
}

TEST_F(Streams, LegacyStreamIgnoresNonBlockingOnes) {
  hold(free_running);
  EXPECT_TRUE(runs(nullptr));
}

TEST_F(Streams, PerThreadDefaultStreamsAreStreamsOfTheirOwn) {
  hold(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(runs(nullptr, true));
  EXPECT_TRUE(runs(blocking));
  bool elsewhere = false;
  std::thread([&] {
    cuCtxSetCurrent(context);
    elsewhere = runs(nullptr, true);
  }).join();
  EXPECT_TRUE(elsewhere);
  EXPECT_FALSE(runs(nullptr));  // a per-thread default stream is a blocking one
}

TEST_F(Streams, ADestroyedStreamsWorkStillOrders) {
  hold(blocking);
  OK(cuStreamDestroy(blocking));
  EXPECT_FALSE(runs(nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(blocking));
}

TEST_F(Streams, EventsOrderAcrossStreams) {
  hold(free_running);
  OK(cuEventRecord(event, free_running));
  OK(cuStreamWaitEvent(other, event, 0));
  fill_words(data, 7, 1, 0, other);
  EXPECT_FALSE(runs(other));
  release();
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(7u, word_at(data));
}

TEST_F(Streams, AWaitIsForTheRecordThatWasNewestThen) {
  OK(cuEventRecord(event, free_running));
  OK(cuStreamWaitEvent(other, event, 0));
  hold(free_running);
  OK(cuEventRecord(event, free_running));
  EXPECT_TRUE(runs(other));
}

TEST_F(Streams, WorkOfAStreamIsInOrder) {
  // 1, then 2 half a millisecond later, then copied: the copy must see 2.
  fill_words(data, 1, 1024, 300000, other);
  fill_words(data, 2, 1024, 500000, other);
  CUdeviceptr to = data + 65536, from = data;
  uint64_t words = 1024, ns = 0;
  void* parameters[] = {&to, &from, &words, &ns};
  OK(cuLaunchKernel(copy, 1, 1, 1, 32, 1, 1, 0, other, parameters, nullptr));
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(2u, word_at(to + 1023 * 4));
}

TEST_F(Streams, EventTimesAreTheModelledOnes) {
  OK(cuEventRecord(event, other));
  busy(2000000, other);
  busy(3000000, other);
  OK(cuEventRecord(end, other));
  float ms;
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, event, end));
  OK(cuEventSynchronize(end));
  OK(cuEventElapsedTime(&ms, event, end));
  EXPECT_GE(ms, 5.0f);
  EXPECT_LT(ms, 5.3f);
}

TEST_F(Streams, StreamsRunSideBySide) {
  // Submission can be held up by the machine, device time cannot: two kernels of 20 ms end together.
  CUevent ends[2];
  for (CUevent& e : ends) OK(cuEventCreate(&e, 0));
  hold(free_running);
  OK(cuEventRecord(event, free_running));
  OK(cuStreamWaitEvent(blocking, event, 0));
  OK(cuStreamWaitEvent(other, event, 0));
  busy(20000000, blocking);
  busy(20000000, other);
  OK(cuEventRecord(ends[0], blocking));
  OK(cuEventRecord(ends[1], other));
  release();
  OK(cuCtxSynchronize());
  for (CUevent e : ends) {
    float ms;
    OK(cuEventElapsedTime(&ms, event, e));
    EXPECT_GE(ms, 20.0f);
    EXPECT_LT(ms, 20.1f);
  }
}

TEST_F(Streams, HostFunctionsRunInTheirTurn) {
  static std::atomic<int> ran;
  ran = 0;
  hold(other);
  OK(cuLaunchHostFunc(
      other, [](void* data_) { ran += *static_cast<int*>(data_); }, new int(5)));
  OK(cuStreamAddCallback(
      other, [](CUstream, CUresult status, void*) { ran += status == CUDA_SUCCESS ? 10 : 100; }, nullptr, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(0, ran);
  release();
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(15, ran);
}

TEST_F(Streams, WaitAndWriteValues) {
  fill_words(data, 0, 16, 0, other);
  OK(cuStreamSynchronize(other));
  OK(cuStreamWaitValue32(other, data, 3, CU_STREAM_WAIT_VALUE_GEQ));
  fill_words(data + 64, 9, 1, 0, other);
  EXPECT_FALSE(runs(other));
  OK(cuStreamWriteValue32(free_running, data, 4, 0));
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(9u, word_at(data + 64));
}

TEST_F(Streams, TheCpuLetsAValueWaitGo) {
  fill_words(data, 0, 16, 0, other);
  OK(cuStreamSynchronize(other));
  CUdeviceptr address;
  OK(cuMemHostGetDevicePointer(&address, const_cast<uint32_t*>(flag), 0));
  volatile uint32_t* const upper = flag + 1;
  OK(cuStreamWaitValue64(other, address, uint64_t{1} << 32, CU_STREAM_WAIT_VALUE_EQ));
  fill_words(data, 9, 1, 0, other);
  EXPECT_FALSE(runs(other));
  *upper = 1;
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(9u, word_at(data));
  OK(cuStreamWriteValue64(other, data, 0x0000000b0000000a, 0));
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(10u, word_at(data));
  EXPECT_EQ(11u, word_at(data + 4));
  *upper = 0;
}

TEST_F(Streams, AsynchronousFreeIsInStreamOrder) {
  CUdeviceptr temporary;
  OK(cuMemAllocAsync(&temporary, 4096, other));
  fill_words(temporary, 3, 1024, 1000000, other);
  OK(cuMemcpyDtoDAsync(data, temporary, 4096, other));
  OK(cuMemFreeAsync(temporary, other));
  OK(cuStreamSynchronize(other));
  EXPECT_EQ(3u, word_at(data + 4092));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(temporary));
}

TEST_F(Streams, CapturedWorkRunsAtTheGraphsLaunch) {
  CUstreamCaptureStatus status;
  OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuStreamIsCapturing(other, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  fill_words(data, 5, 4, 1000, other);
  OK(cuEventRecord(event, other));
  OK(cuStreamWaitEvent(free_running, event, 0));  // joins the capture
  OK(cuMemcpyDtoDAsync(data + 64, data, 16, free_running));
  OK(cuEventRecord(end, free_running));
  OK(cuStreamWaitEvent(other, end, 0));
  CUgraph graph;
  OK(cuStreamEndCapture(other, &graph));
  OK(cuStreamIsCapturing(free_running, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, status);
  OK(cuCtxSynchronize());
  EXPECT_EQ(0u, word_at(data + 64));
  CUgraphExec exec;
  OK(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    OK(cuMemsetD8(data, 0, 128));
    OK(cuGraphLaunch(exec, other));
    OK(cuStreamSynchronize(other));
    EXPECT_EQ(5u, word_at(data + 76));
  }
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuGraphDestroy(graph));
}

TEST_F(Streams, SynchronizingACapturingStreamSpoilsTheCapture) {
  OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(other));
  CUgraph graph;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(other, &graph));
  OK(cuStreamSynchronize(other));
}

TEST_F(Streams, ThousandsComeAndGo) {
  for (int i = 0; i < 3000; ++i) {
    CUstream stream;
    CUevent mark;
    OK(cuStreamCreate(&stream, i % 2));
    OK(cuEventCreate(&mark, CU_EVENT_DISABLE_TIMING));
    busy(1000, stream);
    OK(cuEventRecord(mark, stream));
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(mark));
  }
  OK(cuCtxSynchronize());
}

}  // namespace
}  // namespace diogenes::sim
