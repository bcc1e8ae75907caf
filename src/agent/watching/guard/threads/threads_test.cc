// Guards in programs of many threads: made before and after the guards, racing, blocked in calls, cancelled,
// not ours.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/testing/child.h"
#include "agent/watching/guard/testing/raising.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {
namespace {

// Until the thread is inside read(), and fills `buffer` there (null: any).
void await_read(const std::atomic<pid_t>& thread, const void* buffer = nullptr) {
  for (int i = 0; i < 100'000; ++i, usleep(100)) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread.load());
    FILE* file = fopen(path, "re");
    if (!file) continue;
    long number = -1;
    unsigned long descriptor = 0, into = 0;
    const int fields = fscanf(file, "%ld %lx %lx", &number, &descriptor, &into);
    fclose(file);
    if (fields == 3 && number == SYS_read && (!buffer || into == address_of(buffer))) return;
  }
}

TEST(Threads, OneOfManyIsTheFirst) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    constexpr int kThreads = 6;
    constexpr int kRounds = 300;
    char* memory = pages(1);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, kThreads + 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < kRounds; ++round) {
          pthread_barrier_wait(&barrier);
          reinterpret_cast<volatile int*>(memory)[t] = round;
          CHECK(reinterpret_cast<volatile int*>(memory)[t] == round);
          pthread_barrier_wait(&barrier);
        }
      });
    for (int round = 0; round < kRounds; ++round) {
      GuardHandle guard = guard_soon(memory, 4096);
      CHECK(guard != kNoGuard);
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
      Touch touch = lower_guard(guard);
      CHECK(touch.by == TouchBy::program && touch.access == Access::write);
      CHECK(touch.address >= address_of(memory) && touch.address < address_of(memory + 4 * kThreads));
    }
    for (auto& thread : threads) thread.join();
  });
}

// The main thread's are in a mapping of their own: what lies under it is somebody else's, and is guarded.
TEST(Threads, VariablesOfTheMainThread) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    const AddressRange own = thread_variables();
    uintptr_t begin = 0, end = 0;
    FILE* maps = fopen("/proc/self/maps", "re");
    while (fscanf(maps, "%lx-%lx%*[^\n]", &begin, &end) == 2 && end <= address_of(&errno)) {
    }
    fclose(maps);
    CHECK(begin <= own.begin);
    CHECK(own.contains(range_of(&errno, sizeof errno)) && own.contains(range_of(&guard_thread, 8)));
    CHECK(guard_over(&errno, sizeof errno) == kNoGuard);
  });
}

// The kernel likes to put the next mapping there.
TEST(Threads, MemoryRightUnderAStackIsSomebodyElses) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    static constexpr size_t kStack = 256 << 10;
    static std::atomic<int> step{0};
    char* under = pages(1 + kStack / 4096);
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, under + 4096, kStack) == 0);
    pthread_t thread;
    const auto begin = [](void*) -> void* {
      guard_this_thread(kStack);
      for (step = 1; step != 2;) usleep(100);
      return nullptr;
    };
    CHECK(pthread_create(&thread, &attributes, begin, nullptr) == 0);
    while (step != 1) usleep(100);
    GuardHandle guard = guard_soon(under, 4096);
    CHECK(guard != kNoGuard);
    CHECK(lower_guard(guard).by == TouchBy::nobody);
    CHECK(guard_over(under + 4096, 4096) == kNoGuard);
    step = 2;
    CHECK(pthread_join(thread, nullptr) == 0);
  });
}

TEST(Threads, ThoseFromBeforeTheGuardsAreWatchedToo) {
  RUN_IN_CHILD({
    int ends[2];
    int answers[2];
    CHECK(pipe(ends) == 0 && pipe(answers) == 0);
    char* memory = pages(1);
    std::atomic<pid_t> thread{0};
    std::thread reader([&] {
      thread = static_cast<pid_t>(syscall(SYS_gettid));
      sigset_t all;
      sigset_t now;
      sigfillset(&all);
      CHECK(pthread_sigmask(SIG_BLOCK, &all, nullptr) == 0);  // as a pool's threads do
      CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGSEGV));
      char byte;
      CHECK(read(ends[0], &byte, 1) == 1);  // is in here when the guards come
      CHECK(read(ends[0], memory, 1) == 1);
      CHECK(read(ends[0], &byte, 1) == 1);
      memory[50] = 1;
      CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGSEGV));
      CHECK(write(answers[1], "d", 1) == 1);
    });
    await_read(thread);
    CHECK(start_guards());
    char byte;
    GuardHandle guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    CHECK(write(ends[1], "a", 1) == 1);
    await_read(thread, memory);
    CHECK(collect(guard).by == TouchBy::system_call);  // seen before it waits
    CHECK(guard_over(memory, 100) == kNoGuard);        // while the kernel may write there
    CHECK(write(ends[1], "b", 1) == 1);
    lower_guard(guard);
    guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    CHECK(write(ends[1], "c", 1) == 1 && read(answers[0], &byte, 1) == 1);
    CHECK(memory[0] == 'b' && lower_guard(guard).by == TouchBy::program);
    reader.join();
  });
}

TEST(Threads, AReadFromBeforeKeepsItsBuffer) {
  RUN_IN_CHILD({
    int ends[2];
    CHECK(pipe(ends) == 0);
    char* memory = pages(2);
    std::atomic<pid_t> thread{0};
    std::thread reader([&] {
      thread = static_cast<pid_t>(syscall(SYS_gettid));
      CHECK(read(ends[0], memory + 500, 1) == 1 && memory[500] == 'a');
    });
    await_read(thread, memory + 500);
    CHECK(start_guards());
    GuardHandle elsewhere = guard_soon(memory + 4096, 10);
    CHECK(elsewhere != kNoGuard);
    CHECK(guard_over(memory, 10) == kNoGuard);
    CHECK(write(ends[1], "a", 1) == 1);
    reader.join();
    CHECK(guard_over(memory, 10) != kNoGuard);
  });
}

// All signals are blocked there: one that was dispatched would end the program.
TEST(Threads, ASystemCallOfLibcInASectionIsMade) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    {
      Section section(Section::outside);
      CHECK(getppid() > 0);
    }
    CHECK(getppid() > 0);
    memory[3] = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST(Threads, NotOurOwn) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 10);
    static std::atomic<bool> end{false};
    char* stack = pages(16);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    int made = clone(
        [](void*) {
          while (!end) __builtin_ia32_pause();
          return 0;
        },
        stack + 16 * 4096, flags, nullptr);
    CHECK(made > 0);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    CHECK(guard_over(memory, 10) == kNoGuard);
    end = true;
    _exit(0);
  });
}

TEST(Threads, ManyThatComeAndGo) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    for (int i = 0; i < 500; ++i) {
      GuardHandle guard = guard_soon(memory, 100);
      CHECK(guard != kNoGuard);
      std::thread thread([&] {
        char* block = static_cast<char*>(malloc(3000));
        memset(block, 1, 3000);
        free(block);
        memory[i % 100] = 1;
      });
      thread.join();
      Touch touch = lower_guard(guard);
      CHECK(touch.by == TouchBy::program && touch.address == address_of(memory + i % 100));
    }
  });
}

// One that is in no call, and makes none: the guards come once it is seen to run by itself.
TEST(Threads, OneFromBeforeThatSpins) {
  RUN_IN_CHILD({
    char* memory = pages(1);
    std::atomic<bool> end{false};
    std::atomic<bool> begun{false};
    std::thread spinning([&] {
      begun = true;
      while (!end) __builtin_ia32_pause();
    });
    while (!begun) usleep(100);
    CHECK(start_guards());
    GuardHandle guard = kNoGuard;
    for (int i = 0; i < 20 && guard == kNoGuard; ++i) guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    lower_guard(guard);
    end = true;
    spinning.join();
  });
}

// The kernel writes there for long, on a processor: no guard may stop it half way.
TEST(Threads, ALongReadFromBeforeIsNotCutShort) {
  RUN_IN_CHILD({
    constexpr size_t kPages = 32 << 10;
    char* memory = pages(kPages);
    std::atomic<bool> begun{false};
    std::thread reader([&] {
      const int file = open("/dev/zero", O_RDONLY);
      begun = true;
      for (int i = 0; i < 4; ++i) CHECK(read(file, memory, kPages * 4096) == kPages * 4096);
    });
    while (!begun) usleep(100);
    CHECK(start_guards());
    for (int i = 0; i < 200; ++i) {
      lower_guard(guard_over(memory + (kPages - 1) * 4096, 100));
      usleep(300);
    }
    reader.join();
  });
}

// Threads that go while a raise tries to watch them from outside: once, each of them left the count of those
// that are not watched wrong, and no guard came any more.
TEST(Threads, ThatGoWhileTheyAreLookedAt) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    std::atomic<bool> end{false};
    std::vector<std::thread> makers;
    for (int m = 0; m < 6; ++m)
      makers.emplace_back([&] {
        while (!end) std::thread([] {}).join();
      });
    for (int i = 0; i < 1500; ++i) {
      lower_guard(guard_over(memory, 100));  // most are refused: some thread is on its way
      usleep(500);
    }
    end = true;
    for (auto& maker : makers) maker.join();
    GuardHandle guard = guard_soon(memory, 100);
    CHECK(guard != kNoGuard);
    lower_guard(guard);
  });
}

TEST(Threads, ResultsExitsAttributesAndCancellation) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 100);
    pthread_t thread;
    void* result = nullptr;
    CHECK(pthread_create(
              &thread, nullptr, [](void* a) { return a; }, memory) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == memory);
    CHECK(pthread_create(
              &thread, nullptr, [](void* a) -> void* { pthread_exit(a); }, memory) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == memory);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
    CHECK(pthread_create(
              &thread, &attributes,
              [](void* a) -> void* {
                for (int i = 0; i < 100; ++i) getppid();
                static_cast<char*>(a)[3] = 1;
                return a;
              },
              memory) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == memory);
    CHECK(lower_guard(guard).by == TouchBy::program);

    static int ends[2];
    static std::atomic<int> cleaned{0};
    CHECK(pipe(ends) == 0);
    guard = guard_soon(memory, 100);
    for (int i = 0; i < 20; ++i) {
      CHECK(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  char byte;
                  pthread_cleanup_push([](void*) { ++cleaned; }, nullptr);
                  CHECK(read(ends[0], &byte, 1) == 1);
                  pthread_cleanup_pop(0);
                  return nullptr;
                },
                nullptr) == 0);
      usleep(i % 2 ? 3000 : 0);
      CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
      CHECK(result == PTHREAD_CANCELED && cleaned == i + 1);
    }
    CHECK(collect(guard).by == TouchBy::nobody);
  });
}

TEST(Threads, OfTheDriverAreNotCounted) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    std::atomic<bool> end{false};
    enter_driver();
    std::thread driver([&] {
      while (!end) usleep(100);
    });
    leave_driver();
    usleep(10000);
    for (int i = 0; i < 600; ++i) {  // more than between two looks at the process's threads
      GuardHandle guard = guard_over(memory, 100);
      CHECK(guard != kNoGuard);
      memory[200] = 1;
      CHECK(lower_guard(guard).by == TouchBy::nobody);
    }
    end = true;
    driver.join();
  });
}

TEST(Threads, ForkingWhileOthersWork) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    std::atomic<bool> end{false};
    char* memory = pages(4);
    std::thread other([&] {
      while (!end) {
        memory[4096 * 3] = 1;
        getppid();
      }
    });
    int raised = 0;
    for (int i = 0; i < 100; ++i) {
      GuardHandle guard = guard_over(memory, 4096);
      raised += guard != kNoGuard;
      pid_t child = fork();
      if (child == 0) {
        memory[1] = 2;
        int null = open("/dev/null", 1);
        _exit(null >= 0 && write(null, memory, 4096) == 4096 ? 0 : 1);
      }
      int status = -1;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
      if (guard) lower_guard(guard);
    }
    CHECK(raised > 50);
    end = true;
    other.join();
  });
}

}  // namespace
}  // namespace diogenes::agent
