// Touches beside a range in programs of many threads: stepped over where the others are at rest, and no touch
// of the range is missed while the page stands open.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include <atomic>
#include <condition_variable>
#include <csetjmp>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "agent/watching/guard/testing/child.h"

namespace diogenes::agent {
namespace {

GuardHandle guard_soon(const void* begin, size_t bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (GuardHandle guard = raise_guard(range_of(begin, bytes), Protection::no_access)) return guard;
    usleep(1000);
  }
  return kNoGuard;
}

void touch(void* at) { *static_cast<volatile char*>(at) = 1; }

// How often `count` guards in turn, each with a touch beside it, were found untouched.
int untouched_of(int count, char* memory) {
  int untouched = 0;
  for (int i = 0; i < count; ++i) {
    GuardHandle guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    touch(memory + 200);
    TouchBy by = lower_guard(guard).by;
    CHECK(by == TouchBy::nobody || by == TouchBy::exposed);
    untouched += by == TouchBy::nobody;
  }
  return untouched;
}

// Threads in all the ways in which threads wait, until end().
struct Waiters {
  std::mutex mutex;
  std::condition_variable condition;
  bool over = false;
  int ends[2];
  std::vector<std::thread> threads;

  Waiters() {
    CHECK(pipe(ends) == 0);
    threads.emplace_back([this] {
      std::unique_lock lock(mutex);
      condition.wait(lock, [this] { return over; });
    });
    threads.emplace_back([this] {
      char byte;
      CHECK(read(ends[0], &byte, 1) == 0);
    });
    threads.emplace_back([this] {
      pollfd file{ends[0], POLLIN, 0};
      CHECK(poll(&file, 1, -1) == 1);
    });
    threads.emplace_back([this] {
      int queue = epoll_create1(0);
      epoll_event event{EPOLLIN, {}};
      CHECK(queue >= 0 && epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], &event) == 0);
      CHECK(epoll_wait(queue, &event, 1, -1) == 1);
    });
    usleep(50000);
  }
  void end() {
    {
      std::lock_guard lock(mutex);
      over = true;
    }
    condition.notify_all();
    close(ends[1]);
    for (auto& thread : threads) thread.join();
  }
};

TEST(ThreadsAtRest, ThreadsThatWaitTouchNothing) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    Waiters waiters;
    CHECK(untouched_of(50, memory) == 50);
    waiters.end();
  });
}

TEST(ThreadsAtRest, NorDoThoseThatWaitedWhenTheGuardsCame) {
  RUN_IN_CHILD({
    Waiters waiters;
    CHECK(start_guards());
    char* memory = pages(1);
    CHECK(untouched_of(20, memory) == 20);
    waiters.end();
  });
}

TEST(ThreadsAtRest, NorWhereTheProgramHasSignalHandlers) {
  RUN_IN_CHILD({
    CHECK(signal(SIGUSR1, [](int) {}) == SIG_DFL);
    CHECK(start_guards());
    char* memory = pages(1);
    Waiters waiters;
    CHECK(untouched_of(20, memory) == 20);
    waiters.end();
  });
}

TEST(ThreadsAtRest, AThreadThatRunsMayTouchUnseen) {
  for (bool handler : {false, true})
    RUN_IN_CHILD({
      if (handler) CHECK(signal(SIGUSR1, [](int) {}) == SIG_DFL);
      CHECK(start_guards());
      char* memory = pages(1);
      std::atomic<bool> begun{false};
      std::atomic<bool> end{false};
      std::thread other([&] {
        begun = true;
        while (!end) __builtin_ia32_pause();
      });
      while (!begun) usleep(100);
      CHECK(untouched_of(20, memory) == 0);
      end = true;
      other.join();
      CHECK(untouched_of(20, memory) == 20);  // alone again
    });
}

TEST(ThreadsAtRest, AThreadInsideTheDriverMayTouchUnseen) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    std::atomic<bool> begun{false};
    std::atomic<bool> end{false};
    std::thread other([&] {
      getppid();
      enter_driver();
      begun = true;
      while (!end) __builtin_ia32_pause();
      leave_driver();
    });
    while (!begun) usleep(100);
    CHECK(untouched_of(20, memory) == 0);
    end = true;
    other.join();
  });
}

// Rounds, and who touched in which. A touch counts for a round if that was under way before it and after it.
struct Rounds {
  static constexpr uint32_t kMost = 20000;
  std::atomic<uint32_t> now{0};  // 0: none
  std::atomic<bool> touched[kMost];

  void touch_in_round(char* at) {
    uint32_t before = now.load();
    touch(at);
    if (before != 0 && now.load() == before) touched[before] = true;
  }
};
Rounds rounds;

struct Counts {
  int used = 0, untouched = 0, exposed = 0;
};

// Guards over memory[0..100), with steps beside it all the time; more of them where the machine is so busy
// that the others come by too seldom.
Counts play(int count, char* memory) {
  Counts counts;
  auto enough = [&](int rounds_played) {
    return rounds_played > count && counts.used > 0 && counts.untouched > 0;
  };
  for (int i = 1; i < static_cast<int>(Rounds::kMost) && !enough(i); ++i) {
    usleep(i % 7 * 10);  // the others get a processor
    GuardHandle guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    uint32_t round = static_cast<uint32_t>(i);
    rounds.now = round;
    for (int n = 0; n < 3 && collect(guard).by == TouchBy::nobody; ++n) touch(memory + 200 + n);
    rounds.now = 0;
    TouchBy by = lower_guard(guard).by;
    if (rounds.touched[round]) {
      CHECK(by != TouchBy::nobody);
      ++counts.used;
    }
    ++(by == TouchBy::nobody ? counts.untouched : by == TouchBy::exposed ? counts.exposed : counts.used);
  }
  return counts;
}

void print(const char* what, const Counts& counts) {
  printf("  %s: %d used, %d untouched, %d exposed\n", what, counts.used, counts.untouched, counts.exposed);
  CHECK(counts.used > 0 && counts.untouched > 0);
}

// They sleep, wake up, and touch the range at any moment of a step.
TEST(ThreadsAtRest, TouchesByThreadsThatWakeUpDuringSteps) {
  for (bool handler : {false, true})
    RUN_IN_CHILD({
      if (handler) CHECK(signal(SIGUSR1, [](int) {}) == SIG_DFL);
      CHECK(start_guards());
      char* memory = pages(1);
      std::atomic<bool> end{false};
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
          std::mt19937 random(t);
          while (!end) {
            usleep(random() % 1000);
            if (random() % 3 == 0) rounds.touch_in_round(memory + 7 * t);
          }
        });
      print(handler ? "asking the kernel" : "asking the calls", play(4000, memory));
      end = true;
      for (auto& thread : threads) thread.join();
    });
}

std::atomic<int> handled{0};
char* handler_memory = nullptr;
thread_local sigjmp_buf handler_jump;

void block_alarm() {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  CHECK(pthread_sigmask(SIG_BLOCK, &alarm, nullptr) == 0);
}

// The thread never leaves its system call, but for the program's handlers, which touch the range.
TEST(ThreadsAtRest, TouchesByHandlersOnThreadsThatWait) {
  for (bool jumps : {false, true})
    RUN_IN_CHILD({
      static bool jump = jumps;
      struct sigaction action {};
      action.sa_flags = SA_RESTART;
      action.sa_handler = [](int) {
        ++handled;
        rounds.touch_in_round(handler_memory);
        if (jump) siglongjmp(handler_jump, 1);
      };
      CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
      CHECK(start_guards());
      handler_memory = pages(1);
      block_alarm();
      int ends[2];
      CHECK(pipe(ends) == 0);
      std::atomic<bool> ready{false};
      std::thread waiting([&] {
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        if (sigsetjmp(handler_jump, 1)) {
          // Out of the call without its end: nothing but this tells that the thread runs.
          for (int i = 0; i < 20; ++i) rounds.touch_in_round(handler_memory);
        }
        CHECK(pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr) == 0);
        ready = true;
        char byte;
        CHECK(read(ends[0], &byte, 1) == 0);
      });
      while (!ready) usleep(100);
      itimerval often{{0, 300}, {0, 300}};
      CHECK(setitimer(ITIMER_REAL, &often, nullptr) == 0);
      print(jumps ? "handlers that jump" : "handlers", play(3000, handler_memory));
      often = {};
      CHECK(setitimer(ITIMER_REAL, &often, nullptr) == 0);
      CHECK(handled > 100);
      close(ends[1]);
      waiting.join();
    });
}

TEST(ThreadsAtRest, ThreadsThatComeDuringSteps) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    std::atomic<bool> end{false};
    std::thread maker([&] {
      while (!end) {
        std::thread([&] { rounds.touch_in_round(memory + 9); }).join();
        usleep(500);
      }
    });
    print("threads that come", play(2000, memory));
    end = true;
    maker.join();
  });
}

// Threads of the driver block every signal. Memory of theirs lies beside the program's on the heap's pages:
// their faults must be taken all the same.
TEST(ThreadsAtRest, TheDriversThreadsFaultToo) {
  for (bool later : {false, true})
    RUN_IN_CHILD({
      CHECK(start_guards());
      char* memory = pages(1);
      std::atomic<int> turn{0};
      sigset_t all;
      sigset_t before;
      sigfillset(&all);
      enter_driver();
      CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
      std::thread driver([&] {
        if (later) CHECK(pthread_sigmask(SIG_SETMASK, &all, nullptr) == 0);
        for (int mine = 1; mine <= 2; ++mine) {
          while (turn != mine) usleep(100);
          touch(memory + (mine == 1 ? 200 : 50));
          turn = 0;
        }
      });
      CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
      leave_driver();
      auto let_driver = [&](int what) {
        turn = what;
        while (turn != 0) usleep(100);
      };
      GuardHandle guard = guard_soon(memory, 100);
      let_driver(1);  // beside; the program's only thread may run meanwhile
      TouchBy by = lower_guard(guard).by;
      CHECK(by == TouchBy::nobody || by == TouchBy::exposed);
      guard = guard_soon(memory, 100);
      let_driver(2);
      CHECK(lower_guard(guard).by == TouchBy::driver);
      driver.join();
      CHECK(untouched_of(10, memory) == 10);  // the driver's accesses are not the program's code
    });
}

}  // namespace
}  // namespace diogenes::agent
