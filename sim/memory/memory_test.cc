// Memory: what is where, when it changes, page guards and the device, addresses, shapes of copies.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "testing/test_support.h"

namespace diogenes::sim {
namespace {

class Memory : public DriverTest {};

constexpr size_t kPage = 4096;

sigjmp_buf escape;
volatile uintptr_t fault_address;
void on_fault(int, siginfo_t* info, void*) {
  fault_address = reinterpret_cast<uintptr_t>(info->si_addr);
  siglongjmp(escape, 1);
}
// Does reading this byte fault?
bool faults(const volatile char* at) {
  struct sigaction action = {}, before;
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  volatile bool fault = true;
  if (sigsetjmp(escape, 1) == 0) {
    [[maybe_unused]] const char value = *at;
    fault = false;
  }
  sigaction(SIGSEGV, &before, nullptr);
  return fault;
}

TEST_F(Memory, TheCpuCannotTouchDeviceMemory) {
  CUdeviceptr device;
  OK(cuMemAlloc(&device, kPage));
  EXPECT_TRUE(faults(reinterpret_cast<char*>(device + 5)));
  EXPECT_EQ(device + 5, fault_address);
}

// As with the real driver; so a guard on one may hold another.
TEST_F(Memory, SmallPinnedMemorySharesPages) {
  void *first, *second, *large;
  OK(cuMemAllocHost(&first, 8));
  OK(cuMemAllocHost(&second, 3 * kPage));
  OK(cuMemAllocHost(&large, size_t{2} << 20));
  EXPECT_EQ(static_cast<char*>(first) + 512, second);
  EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(large) % kPage);

  memset(second, 5, 3 * kPage);
  fill_words(reinterpret_cast<CUdeviceptr>(first), 7, 2, 0);
  OK(cuCtxSynchronize());
  EXPECT_EQ(7u, static_cast<uint32_t*>(first)[1]);
  EXPECT_EQ(5, static_cast<char*>(second)[0]);

  // The memory of one serves again, and the other stays as it is.
  OK(cuMemFreeHost(first));
  EXPECT_FALSE(faults(static_cast<char*>(first)));
  void* third;
  OK(cuMemAllocHost(&third, 100));
  EXPECT_EQ(first, third);
  EXPECT_EQ(5, static_cast<char*>(second)[3 * kPage - 1]);
  OK(cuMemFreeHost(third));
  OK(cuMemFreeHost(second));
  OK(cuMemFreeHost(large));
}

TEST_F(Memory, ResultsAppearWhenTheWorkEnds) {
  void* pinned;
  OK(cuMemAllocHost(&pinned, kPage));
  auto* word = static_cast<volatile uint32_t*>(pinned);
  for (int round = 0; round < 5; ++round) {
    *word = 0;
    const double begin = seconds();
    fill_words(reinterpret_cast<CUdeviceptr>(pinned), 7, 1, 5000000);
    while (*word == 0 && seconds() - begin < 1) std::this_thread::yield();
    EXPECT_EQ(7u, *word);
    EXPECT_GE(seconds() - begin, 0.005);
  }
}

TEST_F(Memory, TheDeviceWritesThroughPageGuards) {
  void* pinned;
  CUdeviceptr managed, device;
  void* pages = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pages, 1, 2 * kPage);
  OK(cuMemAllocHost(&pinned, 2 * kPage));
  OK(cuMemAllocManaged(&managed, 2 * kPage, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemHostRegister(pages, 2 * kPage, 0));
  OK(cuMemAlloc(&device, 2 * kPage));
  OK(cuMemsetD8(device, 0x5a, 2 * kPage));
  for (void* guarded : {pinned, reinterpret_cast<void*>(managed), pages}) {
    auto* bytes = static_cast<char*>(guarded);
    ASSERT_EQ(0, mprotect(guarded, 2 * kPage, PROT_NONE));
    OK(cuMemcpyDtoHAsync(guarded, device, 2 * kPage, nullptr));
    OK(cuCtxSynchronize());
    EXPECT_TRUE(faults(bytes + 17));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes + 17), fault_address);
    fill_words(reinterpret_cast<CUdeviceptr>(guarded) + 64, 0x01020304, 16, 0);  // a kernel too
    OK(cuCtxSynchronize());
    ASSERT_EQ(0, mprotect(guarded, 2 * kPage, PROT_READ | PROT_WRITE));
    EXPECT_EQ(0x5a, bytes[17]);
    EXPECT_EQ(4, bytes[64]);
    ASSERT_EQ(0, mprotect(guarded, 2 * kPage, PROT_NONE));  // and it reads
    OK(cuMemcpyHtoD(device, guarded, 2 * kPage));
    ASSERT_EQ(0, mprotect(guarded, 2 * kPage, PROT_READ | PROT_WRITE));
    EXPECT_EQ(0x01020304u, word_at(device + 64));
    OK(cuMemsetD8(device, 0x5a, 2 * kPage));
  }
  OK(cuMemHostUnregister(pages));
  munmap(pages, 2 * kPage);
}

// The driver's own copy of pageable memory meets a guard on the calling thread, and goes on once access is
// back.
void* guarded_page;
volatile int guard_faults;
pthread_t fault_thread;
void open_guard(int, siginfo_t*, void*) {
  guard_faults = guard_faults + 1;
  fault_thread = pthread_self();
  mprotect(guarded_page, kPage, PROT_READ | PROT_WRITE);
}
TEST_F(Memory, PageableCopiesMeetGuardsInsideTheDriver) {
  CUdeviceptr device;
  OK(cuMemAlloc(&device, kPage));
  OK(cuMemsetD32(device, 42, kPage / 4));
  guarded_page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action = {}, before;
  action.sa_sigaction = open_guard;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  const std::function<CUresult()> copies[] = {
      [&] { return cuMemcpyDtoH(guarded_page, device, kPage); },
      [&] { return cuMemcpyHtoD(device, guarded_page, kPage); },
      [&] { return cuMemcpyHtoDAsync(device, guarded_page, kPage, nullptr); }};
  for (const auto& copy_once : copies) {
    guard_faults = 0;
    mprotect(guarded_page, kPage, PROT_NONE);
    EXPECT_EQ(CUDA_SUCCESS, copy_once());
    EXPECT_EQ(1, guard_faults);
    EXPECT_TRUE(pthread_equal(pthread_self(), fault_thread));
    EXPECT_EQ(42u, *static_cast<uint32_t*>(guarded_page));
  }
  sigaction(SIGSEGV, &before, nullptr);
  munmap(guarded_page, kPage);
}

TEST_F(Memory, AnAsynchronousPageableCopyTakesTheBytesAtTheCall) {
  CUdeviceptr device;
  OK(cuMemAlloc(&device, kPage));
  std::vector<uint32_t> source(16, 1);
  hold();
  OK(cuMemcpyHtoDAsync(device, source.data(), 64, nullptr));
  source.assign(16, 2);
  release();
  EXPECT_EQ(1u, word_at(device));
}

TEST_F(Memory, AnAsynchronousPinnedCopyTakesThemWhenItRuns) {
  CUdeviceptr device;
  void* pinned;
  OK(cuMemAlloc(&device, kPage));
  OK(cuMemAllocHost(&pinned, kPage));
  *static_cast<uint32_t*>(pinned) = 1;
  hold();
  OK(cuMemcpyHtoDAsync(device, pinned, 64, nullptr));
  *static_cast<uint32_t*>(pinned) = 2;
  release();
  EXPECT_EQ(2u, word_at(device));
}

TEST_F(Memory, AddAddsFloats) {
  CUdeviceptr a, b, sum;
  std::vector<float> x(5000), y(5000), z(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = 0.5f;
  OK(cuMemAlloc(&a, 20000));
  OK(cuMemAlloc(&b, 20000));
  OK(cuMemAlloc(&sum, 20000));
  OK(cuMemcpyHtoD(a, x.data(), 20000));
  OK(cuMemcpyHtoD(b, y.data(), 20000));
  struct __attribute__((packed)) {
    uint64_t sum, a, b, words, ns;
  } packed = {sum, a, b, 5000, 1000};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(add, 10, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  OK(cuMemcpyDtoH(z.data(), sum, 20000));
  EXPECT_EQ(4999.5f, z[4999]);
}

TEST_F(Memory, PlanesAndSolids) {
  // A 3 x 2 piece out of a plane of 8 bytes a row, and back into another place.
  CUdeviceptr device;
  size_t pitch;
  OK(cuMemAllocPitch(&device, &pitch, 8, 4, 4));
  EXPECT_EQ(0u, pitch % 256);
  OK(cuMemsetD2D8(device, pitch, 9, 8, 4));
  const char from[] = "abcdefghijklmnopqrstuvwx";  // three rows of eight
  CUDA_MEMCPY2D plane = {};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = from;
  plane.srcPitch = 8;
  plane.srcXInBytes = 2;
  plane.srcY = 1;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = device;
  plane.dstPitch = pitch;
  plane.dstXInBytes = 1;
  plane.dstY = 2;
  plane.WidthInBytes = 3;
  plane.Height = 2;
  OK(cuMemcpy2D(&plane));
  char row[8];
  OK(cuMemcpyDtoH(row, device + 2 * pitch, 8));
  EXPECT_EQ(0, memcmp(row, "\x09klm\x09\x09\x09\x09", 8));
  OK(cuMemcpyDtoH(row, device + 3 * pitch, 8));
  EXPECT_EQ(0, memcmp(row, "\x09stu\x09\x09\x09\x09", 8));
  CUDA_MEMCPY3D solid = {};
  solid.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  solid.srcDevice = device;
  solid.srcPitch = pitch;
  solid.srcHeight = 2;  // so layer 1 begins at row 2
  solid.srcZ = 1;
  solid.srcXInBytes = 1;
  char to[6] = {};
  solid.dstMemoryType = CU_MEMORYTYPE_HOST;
  solid.dstHost = to;
  solid.dstPitch = 3;
  solid.dstHeight = 2;
  solid.WidthInBytes = 3;
  solid.Height = 2;
  solid.Depth = 1;
  OK(cuMemcpy3D(&solid));
  EXPECT_EQ(0, memcmp(to, "klmstu", 6));
  OK(cuMemcpyPeer(device, context, device + 2 * pitch, context, 8));
  OK(cuMemcpyDtoH(row, device, 8));
  EXPECT_EQ('k', row[1]);
}

TEST_F(Memory, WrongAddressesAreErrors) {
  CUdeviceptr device;
  char host[64];
  OK(cuMemAlloc(&device, 64));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(device, host, 65));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0x1000, host, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(device + 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&device, size_t{1} << 40));
  // A kernel that writes where nothing is: the context does not survive it.
  fill_words(0x1000, 1, 1, 0);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD8(device, 0, 1));
}

TEST_F(Memory, NullHostPointersAreErrorsThatTheContextSurvives) {
  CUdeviceptr device;
  for (const size_t bytes : {size_t{64}, size_t{16} << 20}) {
    OK(cuMemAlloc(&device, bytes));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(device, nullptr, bytes));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(nullptr, device, bytes));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(device, nullptr, bytes, nullptr));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync(nullptr, device, bytes, nullptr));
    fill_words(device, 6, 16, 0);
    EXPECT_EQ(6u, word_at(device));
    OK(cuMemFree(device));
  }
}

TEST_F(Memory, PointersAreDescribed) {
  CUdeviceptr device, managed, base;
  void* pinned;
  size_t size;
  OK(cuMemAlloc(&device, 1000));
  OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemHostAlloc(&pinned, 1000, CU_MEMHOSTALLOC_PORTABLE));
  OK(cuMemGetAddressRange(&base, &size, device + 999));
  EXPECT_EQ(device, base);
  EXPECT_EQ(1000u, size);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, device + 1000));
  unsigned type, is_managed;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_DEVICE}, type);
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_HOST}, type);
  int local = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                            reinterpret_cast<CUdeviceptr>(&local)));
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &is_managed};
  OK(cuPointerGetAttributes(2, wanted, values, reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_EQ(0u, type);
  OK(cuPointerGetAttributes(2, wanted, values, managed));
  EXPECT_EQ(1u, is_managed);
  unsigned flags;
  OK(cuMemHostGetFlags(&flags, pinned));
  EXPECT_EQ(unsigned{CU_MEMHOSTALLOC_PORTABLE}, flags);
  size_t free_before, free_after, total;
  OK(cuMemGetInfo(&free_before, &total));
  OK(cuMemFree(device));
  OK(cuMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_before + 1024, free_after);  // 1000 bytes in units of 512
}

}  // namespace
}  // namespace diogenes::sim
