// rights: results in memory that the program has given other rights than reading and writing. It keeps them.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <initializer_list>

#include "cuda_user.h"

static volatile int faults, strange;
static char* opens;  // what the handler opens
static volatile uintptr_t last;

static void handler(int, siginfo_t* info, void*) {
  faults = faults + 1;
  last = reinterpret_cast<uintptr_t>(info->si_addr);
  if (info->si_code != SEGV_ACCERR) strange = strange + 1;
  if (mprotect(opens, kBytes, PROT_READ | PROT_WRITE) != 0) strange = strange + 1;
}

static char* pages(int rights) {
  return static_cast<char*>(mmap(nullptr, kBytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// The GPU writes `ret` into it.
static void run(CudaUser& user, char* memory, bool registered) {
  if (registered)
    user.compute_pinned(reinterpret_cast<uint32_t*>(memory), 0xc3c3c3c3);
  else
    user.compute(memory, 0xc3c3c3c3);
  reinterpret_cast<void (*)()>(memory + 4096)();
  say("ran, %lu\n", static_cast<unsigned long>(sum(memory)));
  reinterpret_cast<void (*)()>(memory + 8192)();
}

// A barrier: the program wants to hear of the first write to memory that the GPU reads.
static void barrier(CudaUser& user, char* memory, bool read_before) {
  auto* words = reinterpret_cast<uint32_t*>(memory);
  CUdeviceptr device = 0;
  CHECK(cuMemAlloc(&device, kBytes));
  opens = memory;
  user.compute_pinned(words, 3);
  for (int round = 0; round < 3; ++round) {
    mprotect(memory, kBytes, PROT_READ);
    CHECK(cuMemcpyHtoDAsync(device, memory, kBytes, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    faults = 0;
    const uint32_t read = read_before ? words[5000] : 0;
    const int by_reading = faults;
    *static_cast<volatile uint32_t*>(words + 1) = 9;
    say("read %u: %d faults; written: %d, at %lu\n", read, by_reading, faults,
        static_cast<unsigned long>(last - reinterpret_cast<uintptr_t>(memory)));
    say("sum %lu\n", static_cast<unsigned long>(sum(memory)));
  }
  CHECK(cuMemFree(device));
}

int main(int, char** argv) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  const bool first = strcmp(argv[1], "before") == 0;
  if (first) sigaction(SIGSEGV, &action, nullptr);
  CudaUser user;
  if (!first) sigaction(SIGSEGV, &action, nullptr);
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  char* code = pages(kAll);
  for (int i = 0; i < 3; ++i) run(user, code, false);
  CHECK(cuMemHostRegister(code, kBytes, 0));
  for (int i = 0; i < 3; ++i) run(user, code, true);
  char* later = pages(PROT_READ | PROT_WRITE);
  CHECK(cuMemHostRegister(later, kBytes, 0));
  user.compute_pinned(reinterpret_cast<uint32_t*>(later), 1);
  mprotect(later, kBytes, kAll);
  for (int i = 0; i < 3; ++i) run(user, later, true);

  char* memory = pages(PROT_READ | PROT_WRITE);
  CHECK(cuMemHostRegister(memory, kBytes, 0));
  auto* pinned = reinterpret_cast<char*>(CudaUser::pinned());
  for (char* one : {memory, pinned})
    for (bool read_before : {false, true}) barrier(user, one, read_before);
  say("strange: %d\n", strange);
  return 0;
}
