// The program's own signal handling, with guards up: as if they were not there.
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <thread>

#include "agent/watching/guard/testing/child.h"

// What libc does from version 2.41 on: a call that can be cancelled is made from one place, and the handler
// of signal 32 cancels only a thread that it finds there, before the call or about to make it again.
extern "C" long call_bridge(long number, long a, long b, long c);
extern "C" char call_bridge_begin[], call_bridge_end[];
asm(R"(
  .text
  .globl call_bridge, call_bridge_begin, call_bridge_end
call_bridge:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
call_bridge_begin:
  syscall
call_bridge_end:
  ret
)");

namespace diogenes::agent {
namespace {

std::atomic<int> calls{0};
void* volatile fault_at = nullptr;
char* repaired = nullptr;
sigjmp_buf back;
volatile uintptr_t handler_stack = 0;

GuardHandle guard_over(const void* begin, size_t bytes) {
  GuardHandle guard = raise_guard(range_of(begin, bytes), Protection::no_access);
  CHECK(guard != kNoGuard);
  return guard;
}

// Behind the end of the file that it was mapped from.
char* page_without_file() {
  return static_cast<char*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd_create("empty", MFD_CLOEXEC), 0));
}

char* closed_page() {
  char* page = pages(1);
  mprotect(page, 4096, PROT_NONE);
  return page;
}

void repair(int, siginfo_t* info, void*) {
  ++calls;
  fault_at = info->si_addr;
  handler_stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  mprotect(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(info->si_addr) & ~4095ul), 4096,
           PROT_READ | PROT_WRITE);
}

void set_handler(void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
}

void use_guard_and_closed_page() {
  char* memory = pages(1);
  char* closed = closed_page();
  GuardHandle guard = guard_over(memory, 100);
  calls = 0;
  closed[17] = 1;
  CHECK(calls == 1 && fault_at == closed + 17 && closed[17] == 1);
  CHECK(collect(guard).by == TouchBy::nobody);
  memory[5] = 1;
  CHECK(calls == 1 && lower_guard(guard).by == TouchBy::program);
}

TEST(Signals, AHandlerFromBeforeAndOneFromAfter) {
  RUN_IN_CHILD({
    set_handler(repair);
    CHECK(start_guards());
    use_guard_and_closed_page();
    struct sigaction now {};
    CHECK(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == repair &&
          (now.sa_flags & SA_SIGINFO));
    signal(SIGSEGV, SIG_DFL);
    set_handler(repair);
    use_guard_and_closed_page();
  });
  RUN_IN_CHILD({
    CHECK(start_guards());
    set_handler(repair);
    use_guard_and_closed_page();
  });
}

TEST(Signals, OneShot) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    set_handler(repair, SA_RESETHAND);
    use_guard_and_closed_page();
    struct sigaction now {};
    CHECK(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler == SIG_DFL);
  });
}

TEST(Signals, AHandlerWithoutInformation) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    repaired = closed_page();
    CHECK(signal(SIGSEGV, [](int number) {
            CHECK(number == SIGSEGV);
            ++calls;
            mprotect(repaired, 4096, PROT_READ | PROT_WRITE);
          }) == SIG_DFL);
    GuardHandle guard = guard_over(pages(1), 10);
    *static_cast<volatile char*>(repaired) = 1;
    CHECK(calls == 1 && collect(guard).by == TouchBy::nobody);
  });
}

TEST(Signals, StacksAsAskedFor) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    static char stack[64 * 1024];
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    CHECK(sigaltstack(&alternate, nullptr) == 0);
    set_handler(repair, SA_ONSTACK);
    use_guard_and_closed_page();
    CHECK(handler_stack > address_of(stack) && handler_stack <= address_of(stack + sizeof stack));
    set_handler(repair);  // on the stack that was interrupted, though ours runs on the other
    GuardHandle guard = guard_over(pages(1), 100);
    for (int i = 0; i < 100; ++i) {
      volatile char* closed = closed_page();
      closed[17] = 1;
      CHECK(fault_at == closed + 17 && closed[17] == 1);
      uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
      CHECK(handler_stack < here && here - handler_stack < 64 * 1024);
    }
    CHECK(calls == 101);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    CHECK(raise_guard(range_of(pages(1), 100), Protection::no_access) == kNoGuard);
    set_handler(repair, SA_RESETHAND);
    CHECK(raise(SIGSEGV) == 0 && calls == 102);
  });
}

TEST(Signals, JumpingOutAsCollectorsDo) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    set_handler([](int, siginfo_t*, void*) { siglongjmp(back, 1); });
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 100);
    volatile int jumps = 0;
    for (int i = 0; i < 1000; ++i) {
      if (sigsetjmp(back, 1) == 0) {
        *static_cast<volatile char*>(nullptr) = 1;
        CHECK(false);
      } else {
        jumps = jumps + 1;
      }
    }
    CHECK(jumps == 1000);
    CHECK(collect(guard).by == TouchBy::nobody);
    memory[1] = 1;
    CHECK(collect(guard).by == TouchBy::program);
  });
}

TEST(Signals, ACrashIsTheProgramsOwn) {
  auto crash = [](auto&& prepare) {
    return status_of([&] {
      CHECK(start_guards());
      guard_over(pages(1), 100);
      prepare();
      *static_cast<volatile char*>(nullptr) = 1;
    });
  };
  auto died_of = [](int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; };
  EXPECT_TRUE(died_of(crash([] {}), SIGSEGV));
  EXPECT_TRUE(died_of(crash([] { signal(SIGSEGV, SIG_IGN); }), SIGSEGV));
  EXPECT_TRUE(died_of(crash([] { *static_cast<volatile char*>(closed_page()) = 1; }), SIGSEGV));
  EXPECT_TRUE(died_of(crash([] {
                        set_handler(repair);
                        sigset_t set;
                        sigfillset(&set);
                        CHECK(sigprocmask(SIG_BLOCK, &set, nullptr) ==
                              0);  // a forced signal that is blocked kills
                      }),
                      SIGSEGV));
  EXPECT_TRUE(died_of(
      crash([] { set_handler([](int, siginfo_t*, void*) { *static_cast<volatile char*>(nullptr) = 1; }); }),
      SIGSEGV));
  EXPECT_TRUE(died_of(crash([] { kill(getpid(), SIGSEGV); }), SIGSEGV));
  EXPECT_TRUE(died_of(crash([] { kill(getpid(), SIGBUS); }), SIGBUS));
  EXPECT_TRUE(died_of(crash([] { *static_cast<volatile char*>(page_without_file()) = 1; }), SIGBUS));
  EXPECT_TRUE(died_of(crash([] { asm volatile("int3"); }), SIGTRAP));
  EXPECT_TRUE(died_of(crash([] { raise(SIGSYS); }), SIGSYS));
  EXPECT_TRUE(died_of(crash([] { abort(); }), SIGABRT));
  int status = crash([] { set_handler([](int, siginfo_t*, void*) { _exit(3); }); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

TEST(Signals, MasksAreTheProgramsButGuardsWork) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    sigset_t all, old, now;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
    CHECK(!sigismember(&old, SIGSEGV) && !sigismember(&old, SIGSYS));
    CHECK(pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0);
    CHECK(sigismember(&now, SIGSEGV) && sigismember(&now, SIGSYS) && sigismember(&now, SIGTRAP) &&
          sigismember(&now, SIGUSR1));
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 100);
    memory[200] = 1;  // stepped over
    memory[3] = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
    CHECK(syscall(SYS_getpid) == getpid());
    CHECK(pthread_sigmask(SIG_SETMASK, &old, &now) == 0 && sigismember(&now, SIGSEGV));
    CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && !sigismember(&now, SIGSEGV) &&
          !sigismember(&now, SIGUSR1));
  });
}

TEST(Signals, BlockedBeforeTheGuardsCame) {
  RUN_IN_CHILD({
    sigset_t all, now;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, nullptr) == 0);
    CHECK(start_guards());
    CHECK(sigprocmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGSEGV));
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 100);
    memory[3] = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST(Signals, HandlersWithFullMasksMayTouchAndCall) {
  RUN_IN_CHILD({
    static char* memory = pages(1);
    auto handler = [](int) {
      ++calls;
      memory[3] = 1;
      CHECK(syscall(SYS_getpid) == getpid());
    };
    struct sigaction action {};
    action.sa_handler = handler;
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
    CHECK(start_guards());
    CHECK(sigaction(SIGUSR2, &action, nullptr) == 0);
    struct sigaction now {};
    CHECK(sigaction(SIGUSR1, nullptr, &now) == 0 && sigismember(&now.sa_mask, SIGSYS));
    CHECK(sigaction(SIGUSR2, nullptr, &now) == 0 && sigismember(&now.sa_mask, SIGSEGV));
    for (int number : {SIGUSR1, SIGUSR2}) {
      GuardHandle guard = guard_over(memory, 100);
      raise(number);
      CHECK(lower_guard(guard).by == TouchBy::program);
    }
    CHECK(calls == 2);
  });
}

TEST(Signals, WaitingWithAMask) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    CHECK(signal(SIGALRM, [](int) {
            ++calls;
            CHECK(syscall(SYS_getpid) == getpid());
          }) == SIG_DFL);
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 100);
    sigset_t mask;
    sigfillset(&mask);
    sigdelset(&mask, SIGALRM);
    alarm(1);
    CHECK(sigsuspend(&mask) == -1 && errno == EINTR && calls == 1);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    // The next call into the driver makes the thread a watched one again.
    enter_driver();
    leave_driver();
    guard = guard_over(memory, 100);
    memory[2] = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
    alarm(100);
  });
}

TEST(Signals, InterruptedCallsAreInterruptedAndRestarted) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    int ends[2];
    CHECK(pipe(ends) == 0);
    struct sigaction action {};
    static int out = ends[1];
    action.sa_handler = [](int) {
      ++calls;
      if (calls == 2) CHECK(write(out, "x", 1) == 1);
    };
    CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
    GuardHandle guard = guard_over(pages(1), 10);
    alarm(1);
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR && calls == 1);
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
    alarm(1);
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x' && calls == 2);
    CHECK(collect(guard).by == TouchBy::nobody);
    timespec time{0, 1000000};
    CHECK(nanosleep(&time, nullptr) == 0);
    alarm(100);
  });
}

std::atomic<int> elsewhere{0};

TEST(Signals, CancellationByThePlaceOfTheCall) {
  for (bool before : {true, false})
    RUN_IN_CHILD({
      struct {
        void (*handler)(int, siginfo_t*, void*);
        unsigned long flags = SA_SIGINFO | SA_RESTART | 0x04000000;
        void (*restorer)();
        unsigned long mask = 0;
      } action, old;
      struct sigaction restorer {};
      restorer.sa_handler = [](int) {};
      CHECK(sigaction(SIGUSR1, &restorer, nullptr) == 0);
      CHECK(syscall(SYS_rt_sigaction, SIGUSR1, nullptr, &old, 8) == 0);
      action.restorer = old.restorer;
      action.handler = [](int, siginfo_t*, void* opaque) {
        auto at = static_cast<uintptr_t>(static_cast<ucontext_t*>(opaque)->uc_mcontext.gregs[REG_RIP]);
        if (at < address_of(call_bridge_begin) || at >= address_of(call_bridge_end)) {
          ++elsewhere;
          return;
        }
        ++calls;
        siglongjmp(back, 1);
      };
      if (before) CHECK(syscall(SYS_rt_sigaction, 32, &action, nullptr, 8) == 0);
      CHECK(start_guards());
      if (!before) CHECK(syscall(SYS_rt_sigaction, 32, &action, nullptr, 8) == 0);
      CHECK(syscall(SYS_rt_sigaction, 32, nullptr, &old, 8) == 0 && old.handler == action.handler);
      int ends[2];
      CHECK(pipe(ends) == 0);
      char* memory = pages(1);
      pid_t thread = static_cast<pid_t>(syscall(SYS_gettid));
      std::atomic<bool> end{false};
      std::thread other([&] {
        while (!end) {
          usleep(2000);
          syscall(SYS_tgkill, getpid(), thread, 32);
        }
      });
      for (volatile int i = 0; i < 50;) {
        GuardHandle guard = raise_guard(range_of(memory, 100), Protection::no_access);
        if (sigsetjmp(back, 1) == 0) {
          char byte;
          call_bridge(SYS_read, ends[0], reinterpret_cast<long>(&byte), 1);
          CHECK(false);
        }
        i = i + 1;
        if (guard == kNoGuard) continue;
        memory[7] = 1;
        CHECK(lower_guard(guard).by == TouchBy::program);
      }
      CHECK(calls == 50);
      end = true;
      // A jump from the handler leaves the signal's mask as it was before.
      action.handler = [](int, siginfo_t*, void*) {};
      CHECK(syscall(SYS_rt_sigaction, 32, &action, nullptr, 8) == 0);
      other.join();
    });
}

TEST(Signals, ATimerDuringSteps) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    static char* memory = pages(1);
    CHECK(signal(SIGALRM, [](int) {
            ++calls;
            memory[0] = 1;
          }) == SIG_DFL);
    itimerval often{{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_REAL, &often, nullptr) == 0);
    int seen = 0;
    for (int round = 0; round < 3000; ++round) {
      GuardHandle guard = guard_over(memory, 8);
      int before = calls;
      for (int i = 0; i < 10; ++i) memory[100 + i] = 2;
      int after = calls;
      Touch touch = lower_guard(guard);
      // A handler that ran in between touched the range: it was seen, though steps were under way.
      if (after != before) CHECK(touch.by == TouchBy::program);
      if (after != before && touch.by == TouchBy::program) ++seen;
    }
    CHECK(calls > 0 && seen > 0);
  });
}

}  // namespace
}  // namespace diogenes::agent
