// Guards by watchpoints: first touches on all threads, neighbours, turns, frames that end, signals, files.
#include "agent/guard/watchpoints.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "agent/guard/testing/child.h"

namespace diogenes::agent {
namespace {

GuardHandle watch(const volatile void* at, size_t bytes, uint32_t site = 1,
                  Protection protection = Protection::no_access) {
  return raise_guard(AddressRange::of(reinterpret_cast<uintptr_t>(at), bytes), protection,
                     {Way::watchpoints, site, {}});
}

class Watchpoints : public testing::Test {
 protected:
  void SetUp() override {
    bool there = status_of([] {
                   alignas(8) static volatile uint64_t word;
                   if (!start_guards() || watch(&word, 8) == kNoGuard) _exit(3);
                 }) == 0;
    if (!there) GTEST_SKIP() << "no hardware watchpoints";
  }
};

TEST(WatchPieces, CoverTheRangeAndNothingElse) {
  auto sizes = [](uintptr_t begin, uint64_t bytes) {
    std::vector<uint64_t> result;
    WatchPieces pieces = watch_pieces(AddressRange::of(begin, bytes));
    uintptr_t at = begin;
    for (uint32_t i = 0; i < pieces.count; ++i) {
      EXPECT_EQ(pieces.pieces[i].begin, at);
      EXPECT_EQ(at % pieces.pieces[i].size(), 0u);
      result.push_back(pieces.pieces[i].size());
      at = pieces.pieces[i].end;
    }
    return result;
  };
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(sizes(0x1000, 8), (Sizes{8}));
  EXPECT_EQ(sizes(0x1000, 32), (Sizes{8, 8, 8, 8}));
  EXPECT_EQ(sizes(0x1004, 8), (Sizes{4, 4}));
  EXPECT_EQ(sizes(0x1001, 7), (Sizes{1, 2, 4}));
  EXPECT_EQ(sizes(0x1000, 12), (Sizes{8, 4}));
  EXPECT_EQ(sizes(0x1000, 1), (Sizes{1}));
  EXPECT_EQ(sizes(0x1004, 32), Sizes{});  // 4, 8, 8, 8, 4
  EXPECT_EQ(sizes(0x1000, 33), Sizes{});
}

TEST_F(Watchpoints, FirstReadOfAStackVariableIsSeen) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) volatile uint64_t words[3] = {1, 2, 3};
    GuardHandle guard = watch(&words[1], 8);
    CHECK(guard != kNoGuard);
    words[0] = 5;
    CHECK(words[2] == 3 && collect(guard).by == TouchBy::nobody);
    Nanoseconds before = monotonic_now();
    CHECK(words[1] == 2);
    Touch touch = collect(guard);
    CHECK(touch.by == TouchBy::program && touch.stack != 0 && touch.at >= before);
    CHECK(touch.address == reinterpret_cast<uintptr_t>(&words[1]));
    CHECK(!any_guard_up());
    words[1] = 6;  // off
    CHECK(lower_guard(guard).at == touch.at);
  });
}

// A register that is on the old place when the next guard comes; and one that is touched there meanwhile.
TEST_F(Watchpoints, ARegisterIsUsedAgain) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint64_t words[4];
    for (int i = 0; i < 1000; ++i) {
      GuardHandle guard = watch(&words[i % 4], 8);
      CHECK(guard != kNoGuard);
      if (i % 3 == 0) words[i % 4] = 1;
      CHECK(lower_guard(guard).by == (i % 3 == 0 ? TouchBy::program : TouchBy::nobody));
      if (i % 5 == 0) words[i % 4] = 2;
    }
  });
}

TEST_F(Watchpoints, ReadOnlySeesWritesAlone) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint32_t word = 4;
    GuardHandle guard = watch(&word, 4, 1, Protection::read_only);
    CHECK(guard != kNoGuard && word == 4 && collect(guard).by == TouchBy::nobody);
    word = 5;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST_F(Watchpoints, EachByteOfThirtyTwoCounts) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(64) static volatile char bytes[64];
    for (int i = 0; i < 64; ++i) {
      GuardHandle guard = watch(bytes + 16, 32);
      CHECK(guard != kNoGuard);
      bytes[i] = 1;
      CHECK(lower_guard(guard).by == (i >= 16 && i < 48 ? TouchBy::program : TouchBy::nobody));
    }
    CHECK(watch(bytes + 12, 33) == kNoGuard);
  });
}

// One SIGTRAP, two guards.
TEST_F(Watchpoints, OneInstructionTouchesTwoGuards) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(16) static char bytes[16];
    GuardHandle low = watch(bytes, 8);
    GuardHandle high = watch(bytes + 8, 8);
    CHECK(low != kNoGuard && high != kNoGuard);
    asm volatile("movups %%xmm0, %0" : "=m"(bytes));
    CHECK(collect(low).by == TouchBy::program && collect(high).by == TouchBy::program);
  });
}

TEST_F(Watchpoints, StringInstructionsAreTouches) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(64) static char bytes[256];
    GuardHandle guard = watch(bytes + 128, 8);
    void* to = bytes;
    size_t count = 256;
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
    CHECK(collect(guard).by == TouchBy::program && bytes[255] == 7);
  });
}

TEST_F(Watchpoints, OnThreadsOfBeforeAndAfter) {
  RUN_IN_CHILD({
    alignas(8) static volatile uint64_t word;
    static std::atomic<int> asked{0}, done{0};
    static std::atomic<bool> there{false};
    auto body = [] {
      there = true;
      for (int round = 1; round <= 2; ++round) {
        while (asked != round) sched_yield();
        word = 9;
        done = round;
        while (asked == round) sched_yield();
      }
    };
    std::thread before(body);
    while (!there) sched_yield();
    CHECK(start_guards());
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    asked = 1;
    while (done != 1) sched_yield();
    CHECK(lower_guard(guard).by == TouchBy::program);

    // Made after the events were opened, one by the other; the one in between ends.
    static std::atomic<bool> go{false}, made{false};
    static std::thread inner;
    std::thread outer([] {
      inner = std::thread([] {
        while (!go) sched_yield();
        word = 3;
      });
      made = true;
    });
    outer.join();
    CHECK(made);
    guard = watch(&word, 8);
    CHECK(guard != kNoGuard && collect(guard).by == TouchBy::nobody);
    go = true;
    inner.join();
    CHECK(lower_guard(guard).by == TouchBy::program);
    asked = 2;
    while (done != 2) sched_yield();
    asked = 3;
    before.join();
    // The thread on which the first events were opened has ended: nothing is missed on the others.
    guard = watch(&word, 8);
    word = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

// Threads come and go, and touch at once: each touch is seen, or the guard was refused.
TEST_F(Watchpoints, ThreadsThatAreMadeMeanwhile) {
  RUN_IN_CHILD({
    alignas(8) static volatile uint64_t word;
    static std::atomic<bool> over{false};
    static std::atomic<uint64_t> touches{0};
    CHECK(start_guards());
    std::thread maker([] {
      while (!over)
        std::thread([] {
          word = 1;
          touches.fetch_add(1);
        }).join();
    });
    int raised = 0;
    for (int i = 0; i < 2000; ++i) {
      GuardHandle guard = watch(&word, 8);
      uint64_t before = touches;
      if (guard == kNoGuard) {
        sched_yield();
        continue;
      }
      ++raised;
      while (touches < before + 2) sched_yield();  // one of them began after the guard
      CHECK(lower_guard(guard).by != TouchBy::nobody);
    }
    over = true;
    maker.join();
    CHECK(raised > 0);
  });
}

[[gnu::noinline]] void read_without_use(const uint64_t* from, uint64_t* to) {
  asm volatile("mov (%0), %%rax; mov %%rax, (%1)" : : "r"(from), "r"(to) : "rax", "memory");
}

TEST_F(Watchpoints, TheAgentsThunkReadsForNobody) {
  RUN_IN_CHILD({
    auto code = reinterpret_cast<uintptr_t>(&read_without_use);
    set_transparent_code({code, code + 10});
    CHECK(start_guards());
    alignas(8) static uint64_t word = 7;
    uint64_t copy = 0;
    GuardHandle guard = watch(&word, 8);
    for (int i = 0; i < 3; ++i) read_without_use(&word, &copy);
    CHECK(copy == 7 && collect(guard).by == TouchBy::nobody);
    CHECK(*static_cast<volatile uint64_t*>(&word) == 7);
    CHECK(lower_guard(guard).by == TouchBy::program);
    guard = watch(&word, 8);
    read_without_use(&word, &copy);
    CHECK(lower_guard(guard).by == TouchBy::nobody);
  });
}

TEST_F(Watchpoints, SystemCallsAreUses) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    alignas(8) static char bytes[64];
    GuardHandle guard = watch(bytes + 16, 8);
    CHECK(write(pipe_ends[1], bytes, 16) == 16);  // beside it, on the same page
    CHECK(collect(guard).by == TouchBy::nobody);
    CHECK(write(pipe_ends[1], bytes, 17) == 17);
    CHECK(collect(guard).by == TouchBy::system_call);
  });
}

TEST_F(Watchpoints, FreeIsNoUse) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    auto* block = static_cast<uint64_t*>(malloc(16));
    GuardHandle guard = watch(block, 16);
    CHECK(guard != kNoGuard);
    free(block);
    CHECK(collect(guard).by == TouchBy::gone);
  });
}

// ---- frames ----

[[gnu::noinline]] GuardHandle watch_in_frame(bool use) {
  alignas(8) volatile uint64_t word = 0;
  auto* place = static_cast<uintptr_t*>(__builtin_frame_address(0)) + 1;
  Watching how{Way::watchpoints, 1, {1, {reinterpret_cast<uintptr_t>(place)}, {*place}}};
  GuardHandle guard =
      raise_guard(AddressRange::of(reinterpret_cast<uintptr_t>(&word), 8), Protection::no_access, how);
  if (use) word = 1;
  return guard;
}

[[gnu::noinline]] uint64_t other_frame(int depth) {
  volatile uint64_t words[64];
  for (int i = 0; i < 64; ++i) words[i] = static_cast<uint64_t>(i + depth);
  return words[depth] + (depth > 0 ? other_frame(depth - 1) : 0);
}

TEST_F(Watchpoints, AFrameThatEndedIsNoUse) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    GuardHandle used = watch_in_frame(true);
    CHECK(lower_guard(used).by == TouchBy::program);
    GuardHandle guard = watch_in_frame(false);
    CHECK(guard != kNoGuard && collect(guard).by == TouchBy::nobody);
    CHECK(other_frame(3) != 0);
    CHECK(lower_guard(guard).by == TouchBy::gone);
  });
}

// ---- more ranges than registers ----

TEST_F(Watchpoints, SitesTakeTurns) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(64) static volatile uint64_t words[64];
    // One site takes all four, and never touches them.
    GuardHandle first[4];
    for (int i = 0; i < 4; ++i) CHECK((first[i] = watch(&words[i], 8, 10)) != kNoGuard);
    CHECK(watch(&words[8], 8, 10) == kNoGuard);  // the same site waits
    int turns[3] = {};
    GuardHandle held[3] = {};
    for (int round = 0; round < 60; ++round) {
      uint32_t site = static_cast<uint32_t>(round % 3);
      if (held[site]) lower_guard(held[site]);
      held[site] = watch(&words[16 + 4 * site], 32, 20 + site);
      turns[site] += held[site] != kNoGuard;
    }
    for (int i = 0; i < 4; ++i) CHECK(lower_guard(first[i]).by == TouchBy::displaced);
    // All three sites need all four registers.
    for (int turn : turns) CHECK(turn >= 10);
  });
}

// ---- signals, forks, files ----

std::atomic<int> program_traps{0};

TEST_F(Watchpoints, TheProgramsTrapHandlerIsCalledForItsOwn) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    struct sigaction action {};
    action.sa_handler = [](int) { ++program_traps; };
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    alignas(8) static volatile uint64_t word;
    for (int i = 0; i < 10; ++i) {
      GuardHandle guard = watch(&word, 8);
      word = 1;
      CHECK(lower_guard(guard).by == TouchBy::program);
      asm volatile("int3");
      raise(SIGTRAP);
    }
    CHECK(program_traps == 20);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTRAP);
    CHECK(pthread_sigmask(SIG_BLOCK, &blocked, nullptr) == 0);
    GuardHandle guard = watch(&word, 8);
    word = 2;
    CHECK(collect(guard).by == TouchBy::program && program_traps == 20);
    raise(SIGTRAP);
    action.sa_handler = SIG_IGN;
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    lower_guard(guard);
    guard = watch(&word, 8);
    word = 3;
    CHECK(collect(guard).by == TouchBy::program);
  });
}

TEST_F(Watchpoints, AForkTakesThemDownAndTheChildIsFree) {
  RUN_IN_CHILD({
    bool open_before[4096];
    for (int file = 0; file < 4096; ++file) open_before[file] = fcntl(file, F_GETFD) != -1;
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    pid_t child = fork();
    if (child == 0) {
      word = 1;
      for (int file = 0; file < 4096; ++file) CHECK(open_before[file] == (fcntl(file, F_GETFD) != -1));
      _exit(7);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    word = 2;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST_F(Watchpoints, AnExecLeavesNothingBehind) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    CHECK(watch(&word, 8) != kNoGuard);
    execl("/bin/sh", "sh", "-c", "! ls -l /proc/$$/fd | grep -q perf", nullptr);
    _exit(9);
  });
}

TEST_F(Watchpoints, FilesThatTheProgramClosesAreNoticed) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    for (int file = 1000; file >= 3; --file) close(file);  // by the usual loop, or at once
    CHECK(syscall(SYS_close_range, 3u, ~0u, 0u) == 0);
    word = 1;
    CHECK(lower_guard(guard).by != TouchBy::nobody);
    CHECK(watch(&word, 8) == kNoGuard);
    // The numbers are the program's.
    for (int i = 0; i < 600; ++i) CHECK(open("/dev/null", O_RDONLY) == 3 + i);
    word = 2;
    GuardHandle again = watch(&word, 8);
    CHECK(again == kNoGuard);
    for (int i = 0; i < 600; ++i) CHECK(fcntl(3 + i, F_GETFD) == 0);
  });
}

// A page guard's step and a watchpoint in the same instruction.
TEST_F(Watchpoints, ATouchByAnInstructionThatIsSteppedOver) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle page = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    GuardHandle word = watch(memory + 8, 8);
    CHECK(page != kNoGuard && word != kNoGuard);
    *reinterpret_cast<volatile uint64_t*>(memory + 16) = 1;
    CHECK(collect(word).by == TouchBy::nobody && collect(page).by == TouchBy::nobody);
    *reinterpret_cast<volatile uint64_t*>(memory + 8) = 1;
    CHECK(collect(word).by == TouchBy::program && collect(page).by == TouchBy::nobody);
    *reinterpret_cast<volatile uint64_t*>(memory + 8) = 2;
    CHECK(collect(page).by == TouchBy::nobody);
    memory[1024] = 1;
    CHECK(collect(page).by == TouchBy::program);
  });
}

TEST_F(Watchpoints, OtherEventsOfTheProgramAreItsOwn) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    struct sigaction action {};
    action.sa_handler = [](int) { ++program_traps; };
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    alignas(8) static volatile uint64_t theirs;
    alignas(8) static volatile uint64_t ours[4];
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.size = sizeof attributes;
    attributes.bp_type = 3;
    attributes.bp_addr = reinterpret_cast<uint64_t>(&theirs);
    attributes.bp_len = 8;
    attributes.sample_period = 1;
    attributes.sigtrap = attributes.remove_on_exec = attributes.exclude_kernel = attributes.exclude_hv = 1;
    CHECK(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0);
    GuardHandle guard = watch(ours, 24);  // three are left
    CHECK(guard != kNoGuard && watch(&ours[3], 8) == kNoGuard);
    theirs = 1;
    CHECK(program_traps == 1 && collect(guard).by == TouchBy::nobody);
    ours[1] = 1;
    CHECK(program_traps == 1 && collect(guard).by == TouchBy::program);
  });
}

}  // namespace
}  // namespace diogenes::agent
