// The adversarial mode by itself (late.h). One process, one list: the calls go through places with known
// addresses, and the list names these.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "testing/test_support.h"

// A place: calls what it is given, with two arguments; the address behind the call is known.
#define PLACE(name)                                                                                         \
  asm(".pushsection .text\n.type " #name ",@function\n" #name                                               \
      ":\n.cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                                         \
      "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\ncall *%rax\n" #name                  \
      "_returned:\nadd $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size " #name ", . - " #name \
      "\n.popsection");                                                                                     \
  extern "C" int name(void* function, uintptr_t first, uintptr_t second, uintptr_t third);                  \
  extern "C" const char name##_returned[];

PLACE(skips)
PLACE(skips_second)
PLACE(moves)
PLACE(is_in_listed_range)
PLACE(is_not_listed)

namespace diogenes::sim {
namespace {

constexpr size_t kBytes = 8192, kWords = kBytes / 4;

template <typename Function, typename A = uintptr_t, typename B = uintptr_t, typename C = uintptr_t>
CUresult call(decltype(&skips) place, Function function, A a = {}, B b = {}, C c = {}) {
  return static_cast<CUresult>(
      place(reinterpret_cast<void*>(function), (uintptr_t)a, (uintptr_t)b, (uintptr_t)c));
}

void pause_ms(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

class Late : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&device, kBytes));
    void* memory;
    OK(cuMemAllocHost(&memory, kBytes));
    pinned = static_cast<volatile uint32_t*>(memory);
    for (size_t i = 0; i < kWords; ++i) pinned[i] = 1;
    fill_words(device, 7, kWords, 0, one);
    ASSERT_EQ(pipe(pipes), 0);
  }
  void TearDown() override {
    cuCtxSynchronize();
    close(pipes[0]), close(pipes[1]);
    DriverTest::TearDown();
  }
  void* bytes() const { return const_cast<uint32_t*>(pinned); }
  void download() { OK(cuMemcpyDtoHAsync(bytes(), device, kBytes, one)); }
  void upload() { OK(cuMemcpyHtoDAsync(device, bytes(), kBytes, one)); }

  CUstream one = nullptr, two = nullptr;
  CUdeviceptr device = 0;
  volatile uint32_t* pinned = nullptr;
  int pipes[2] = {-1, -1};
};

TEST_F(Late, NothingRunsBeforeSomebodyWaits) {
  download();
  pause_ms(10);
  EXPECT_EQ(pinned[0], 1u);
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, AWaitRunsOnlyWhatItWaitsFor) {
  download();
  OK(cuStreamSynchronize(two));
  EXPECT_EQ(pinned[0], 1u);
}

TEST_F(Late, APlaceThatIsNotListedWaits) {
  download();
  OK(call(is_not_listed, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, AListedWaitIsLeftOut) {
  download();
  OK(call(skips, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 1u);
  OK(call(skips, cuCtxSynchronize));
  EXPECT_EQ(pinned[0], 1u);
  OK(cuCtxSynchronize());
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, AListedFrameMayBeARangeOfOffsets) {
  download();
  OK(call(is_in_listed_range, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 1u);
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, TheTimeBetweenEventsIsNotReadyWithoutAWait) {
  CUevent start, end;
  float milliseconds;
  OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  OK(cuEventRecord(start, one));
  OK(cuEventRecord(end, one));
  OK(call(skips, cuEventSynchronize, end));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  OK(cuEventSynchronize(end));
  OK(cuEventElapsedTime(&milliseconds, start, end));
  OK(cuEventDestroy(start));
  OK(cuEventDestroy(end));
}

TEST_F(Late, WorkBehindAValueWaitRunsWhenTheCpuHasLetItGo) {
  CUdeviceptr address;
  OK(cuStreamSynchronize(one));
  fill_words(device, 8, kWords, 0, one);
  OK(cuMemHostGetDevicePointer(&address, const_cast<uint32_t*>(flag), 0));
  OK(cuStreamWaitValue32(two, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cuMemcpyDtoHAsync(bytes(), device, kBytes, two));
  OK(call(skips, cuStreamSynchronize, one));  // the second fill
  *flag = 1;
  OK(cuStreamSynchronize(two));
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, CallsFromAPlaceAreCounted) {
  download();
  OK(call(skips_second, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 7u);
  pinned[0] = 1;
  download();
  OK(call(skips_second, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 1u);
  OK(call(skips_second, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, OfTwoThatNothingOrdersTheLaterIsFirst) {
  OK(cuStreamSynchronize(one));
  fill_words(device, 10, kWords, 0, one);
  fill_words(device, 20, kWords, 0, two);
  OK(cuCtxSynchronize());
  EXPECT_EQ(word_at(device), 10u);
}

TEST_F(Late, AnEventOrdersTwo) {
  CUevent event;
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  fill_words(device, 10, kWords, 0, one);
  OK(cuEventRecord(event, one));
  OK(cuStreamWaitEvent(two, event, 0));
  fill_words(device, 20, kWords, 0, two);
  OK(cuCtxSynchronize());
  EXPECT_EQ(word_at(device), 20u);
  OK(cuEventDestroy(event));
}

TEST_F(Late, AQueryThatIsAskedAgainAndAgainIsAnswered) {
  download();
  int asked = 1;
  while (cuStreamQuery(one) == CUDA_ERROR_NOT_READY && asked < 1000) ++asked;
  EXPECT_GT(asked, 1);
  EXPECT_LE(asked, 64);
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, AProgramThatOnlyWatchesItsMemoryGoesOn) {
  download();
  for (int i = 0; i < 3000 && pinned[0] == 1; ++i) pause_ms(10);
  EXPECT_EQ(pinned[0], 7u);
}

TEST_F(Late, AMovedWaitHappensAtTheFirstTouch) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(pinned[kWords - 1], 7u);
  EXPECT_EQ(cuStreamQuery(one), CUDA_SUCCESS);
}

TEST_F(Late, AMovedWaitHappensOnWhicheverThread) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  uint32_t seen = 0;
  std::thread([&] { seen = pinned[5]; }).join();
  EXPECT_EQ(seen, 7u);
}

TEST_F(Late, ASourceMayBeReadBeforeItsMovedWaitAndNotWritten) {
  upload();
  OK(call(moves, cuStreamSynchronize, one));
  EXPECT_EQ(pinned[3], 1u);
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  pinned[3] = 9;
  EXPECT_EQ(cuStreamQuery(one), CUDA_SUCCESS);
  EXPECT_EQ(word_at(device + 12), 1u);
}

TEST_F(Late, ASystemCallThatReadsIsATouch) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  uint32_t back[4] = {};
  ASSERT_EQ(write(pipes[1], bytes(), sizeof back), static_cast<ssize_t>(sizeof back));
  ASSERT_EQ(read(pipes[0], back, sizeof back), static_cast<ssize_t>(sizeof back));
  EXPECT_EQ(back[0], 7u);
}

TEST_F(Late, ASystemCallThatWritesIsATouch) {
  const uint32_t news[4] = {30, 31, 32, 33};
  ASSERT_EQ(write(pipes[1], news, sizeof news), static_cast<ssize_t>(sizeof news));
  upload();
  OK(call(moves, cuStreamSynchronize, one));
  ASSERT_EQ(read(pipes[0], bytes(), sizeof news), static_cast<ssize_t>(sizeof news));
  EXPECT_EQ(pinned[1], 31u);
  EXPECT_EQ(word_at(device + 4), 1u);  // what it was when the wait was due
}

TEST_F(Late, SystemCallsWithVectorsAreTouchesOnNewThreadsToo) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  uint32_t back[2] = {};
  std::thread([&] {
    uint32_t other = 3;
    const iovec pieces[] = {{&other, 4}, {bytes(), 4}};
    EXPECT_EQ(writev(pipes[1], pieces, 2), 8);
  }).join();
  ASSERT_EQ(read(pipes[0], back, 8), 8);
  EXPECT_EQ(back[1], 7u);
}

TEST_F(Late, ACallElsewhereIsNoTouch) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  char byte = 'x';
  ASSERT_EQ(write(pipes[1], &byte, 1), 1);
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
}

TEST_F(Late, WhatAFailedCallAnswersStays) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  errno = 0;
  EXPECT_EQ(write(-1, bytes(), 4), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(Late, AReleaseIsATouchOfASource) {
  void* own = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<volatile uint32_t*>(own)[2] = 40;
  OK(cuMemHostRegister(own, kBytes, 0));
  OK(cuMemcpyHtoDAsync(device, own, kBytes, one));
  OK(call(moves, cuStreamSynchronize, one));
  OK(call(skips, cuMemHostUnregister, own));
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  munmap(own, kBytes);
  EXPECT_EQ(word_at(device + 8), 40u);
}

TEST_F(Late, ATransferIsATouch) {
  download();
  OK(call(moves, cuStreamSynchronize, one));
  CUdeviceptr other;
  OK(cuMemAlloc(&other, kBytes));
  OK(cuMemcpyHtoDAsync(other, bytes(), kBytes, two));
  OK(cuStreamSynchronize(two));
  EXPECT_EQ(word_at(other), 7u);
  OK(cuMemFree(other));
}

TEST_F(Late, AMovedWaitForAFewBytesHappensAtOnce) {
  alignas(8) static volatile uint32_t few[4];
  OK(cuMemcpyDtoHAsync(const_cast<uint32_t*>(few), device, sizeof few, one));
  OK(call(moves, cuStreamSynchronize, one));
  EXPECT_EQ(few[0], 7u);
}

TEST_F(Late, MemoryOfASkippedFreeGoesWhenTheGpuIsPastIt) {
  CUdeviceptr other;
  OK(cuMemAlloc(&other, kBytes));
  fill_words(other, 5, kWords, 0, one);
  OK(cuMemcpyDtoHAsync(bytes(), other, kBytes, one));
  OK(call(skips, cuMemFree, other));
  EXPECT_EQ(pinned[0], 1u);
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(pinned[0], 5u);
}

TEST_F(Late, ABlockingCopyWithoutItsWaitComesLater) {
  auto* pageable = static_cast<volatile uint32_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  OK(cuStreamSynchronize(one));
  OK(call(skips, cuMemcpyDtoH, pageable, device, kBytes));
  EXPECT_EQ(pageable[0], 0u);
  OK(cuCtxSynchronize());
  EXPECT_EQ(pageable[0], 7u);
}

TEST_F(Late, AHostFunctionRunsWhenSomebodyWaits) {
  static std::atomic<int> ran;
  ran = 0;
  OK(cuLaunchHostFunc(
      one, [](void*) { ++ran; }, nullptr));
  pause_ms(10);
  EXPECT_EQ(ran, 0);
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(ran, 1);
}

// The bytes from `before` in front of the return address to `behind` it.
std::string listed(const char* what, const char* returned, int before = 1, int behind = 0) {
  Dl_info info;
  dladdr(returned, &info);
  const auto offset = static_cast<unsigned long>(returned - static_cast<const char*>(info.dli_fbase));
  char line[256];
  if (behind > 0)
    snprintf(line, sizeof line, "%s %s+%#lx..%#lx\n", what, program_invocation_short_name,
             offset - static_cast<unsigned long>(before), offset + static_cast<unsigned long>(behind));
  else
    snprintf(line, sizeof line, "%s %s+%#lx\n", what, program_invocation_short_name, offset - 1);
  return line;
}

}  // namespace
}  // namespace diogenes::sim

int main(int argc, char** argv) {
  using diogenes::sim::listed;
  testing::InitGoogleTest(&argc, argv);
  char file[] = "/tmp/late-test.XXXXXX";
  close(mkstemp(file));
  std::ofstream(file) << listed("skip all", skips_returned) << listed("skip 2", skips_second_returned)
                      << listed("move all", moves_returned)
                      << listed("skip all", is_in_listed_range_returned, 4, 4);
  setenv("DIOGENES_SIMULATED_LATE", file, 1);
  setenv("DIOGENES_SIMULATED_LATE_PATIENCE_MS", "2000", 1);  // a busy machine is no program that waits
  const int result = RUN_ALL_TESTS();
  unlink(file);
  return result;
}
