// handlers before|after: the program's own use of signals that a measuring tool needs, too: SIGTRAP by int3
// and by the trap flag, SIGBUS behind the end of a file, SIGSEGV; each thread on an alternate stack of its
// own, with handlers set by several threads at once; masks; and results first read on threads without a
// context.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "cuda_user.h"

static std::atomic<int> traps, steps, buses, faults, strange, off_stack, alarms;
static thread_local sigjmp_buf recovery;
static thread_local char* alternate;
constexpr size_t kStack = 64 * 1024;

static void handler(int signal, siginfo_t* info, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  const char here = 0;
  if (&here < alternate || &here >= alternate + kStack) ++off_stack;
  switch (signal) {
    case SIGTRAP:
      if (info->si_code == TRAP_TRACE) {
        ++steps;
        context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
      } else {
        ++traps;
      }
      return;
    case SIGBUS:
      ++buses;
      siglongjmp(recovery, 1);
    case SIGSEGV:
      ++faults;
      siglongjmp(recovery, 1);
    default:
      ++strange;
  }
}

static void install() {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (int signal : {SIGTRAP, SIGBUS, SIGSEGV})
    if (sigaction(signal, &action, nullptr) != 0) ++strange;
}

static void use_stack() {
  stack_t stack = {};
  alternate =
      static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack.ss_sp = alternate;
  stack.ss_size = kStack;
  if (sigaltstack(&stack, nullptr) != 0) ++strange;
}

static void raise_all(const char* file) {
  asm volatile("int3");
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq; nop" : : : "cc", "memory");
  if (sigsetjmp(recovery, 1) == 0) {
    *static_cast<volatile const char*>(file + 4096);
    ++strange;
  }
  volatile uintptr_t low = 0x10;
  if (sigsetjmp(recovery, 1) == 0) {
    *reinterpret_cast<volatile char*>(low) = 1;
    ++strange;
  }
}

int main(int, char** argv) {
  const bool first = strcmp(argv[1], "before") == 0;
  const int file = memfd_create("short", 0);
  CHECK(ftruncate(file, 4096) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  auto* mapped = static_cast<const char*>(mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0));
  use_stack();
  if (first) install();
  if (first) raise_all(mapped);
  CudaUser user;
  if (!first) install();
  uint32_t* pinned = CudaUser::pinned();
  signal(SIGALRM, [](int) { ++alarms; });

  // Threads that set handlers, raise signals and read results, none of which has a context.
  std::atomic<int> turn{0};
  std::atomic<bool> end{false};
  std::atomic<uint64_t> sums[3];
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      use_stack();
      sigset_t all;
      sigfillset(&all);
      sigdelset(&all, SIGBUS);
      if (t == 0)
        pthread_sigmask(SIG_SETMASK, &all, nullptr);  // what SIGSEGV would be, were it its own: deadly
      for (int round = 1; round <= 20; ++round) {
        while (turn != 4 * round + t) std::this_thread::yield();
        sums[t] += sum(pinned);
        install();
        if (t != 0) raise_all(mapped);
        ++turn;
      }
    });
  for (int round = 1; round <= 20; ++round) {
    user.compute_pinned(pinned, static_cast<uint32_t>(round));
    raise_all(mapped);
    turn = 4 * round;
    while (turn != 4 * round + 3) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  for (auto& each : sums) say("sum %lu\n", static_cast<unsigned long>(each.load()));

  // Held back, and then let in.
  sigset_t alarm_only, pending;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigaddset(&alarm_only, SIGTRAP);
  pthread_sigmask(SIG_BLOCK, &alarm_only, nullptr);
  user.compute_pinned(pinned, 5);
  raise(SIGALRM);
  sigpending(&pending);
  say("pending %d, called %d\n", sigismember(&pending, SIGALRM), alarms.load());
  say("sum %lu\n", static_cast<unsigned long>(sum(pinned)));
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  say("called %d\n", alarms.load());
  say("traps %d, steps %d, buses %d, faults %d, strange %d, not on our stack %d\n", traps.load(),
      steps.load(), buses.load(), faults.load(), strange.load(), off_stack.load());
  struct sigaction now = {};
  sigaction(SIGTRAP, nullptr, &now);
  say("handler is ours: %d, blocks all: %d\n", now.sa_sigaction == handler,
      sigismember(&now.sa_mask, SIGSEGV));
  return 0;
}
