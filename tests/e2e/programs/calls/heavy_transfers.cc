// heavy_transfers: 32 MiB each, so many that looking at all of them costs more than the program: uploads that
// differ, uploads of the same, downloads that the CPU uses.
#include <cstring>
#include <initializer_list>

#include "cuda_user.h"

constexpr size_t kLarge = 32 << 20;
constexpr uint32_t kRounds = 60;

[[gnu::noinline]] static void send_new(CUdeviceptr memory, uint32_t* host, uint32_t round) {
  host[round] = round + 1;
  CHECK(cuMemcpyHtoD(memory, host, kLarge));
}

[[gnu::noinline]] static void send_again(CUdeviceptr memory, const uint32_t* host) {
  CHECK(cuMemcpyHtoD(memory, host, kLarge));
}

[[gnu::noinline]] static uint32_t fetch(uint32_t* host, CUdeviceptr memory, uint32_t round) {
  CHECK(cuMemcpyDtoH(host, memory, kLarge));
  return host[round];
}

int main() {
  const CudaUser user;
  CUdeviceptr changing = 0, constant = 0, used = 0;
  void *sent = nullptr, *same = nullptr, *fetched = nullptr;
  CHECK(cuMemAlloc(&changing, kLarge));
  CHECK(cuMemAlloc(&constant, kLarge));
  CHECK(cuMemAlloc(&used, kBytes));
  for (void** memory : {&sent, &same, &fetched}) {
    CHECK(cuMemAllocHost(memory, kLarge));
    memset(*memory, 0, kLarge);
  }
  uint64_t total = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    send_new(changing, static_cast<uint32_t*>(sent), round);
    send_again(constant, static_cast<const uint32_t*>(same));
    CHECK(cuMemcpyDtoD(used, constant, kBytes));
    total += fetch(static_cast<uint32_t*>(fetched), changing, round);
  }
  say("%lu\n", static_cast<unsigned long>(total));
  return 0;
}
