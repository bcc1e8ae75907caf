// Watchpoints: first touches on all threads, neighbours, one signal for several guards.
#include "agent/watching/guard/watchpoints/watchpoints.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "agent/watching/guard/testing/watching.h"

namespace diogenes::agent {
namespace {

// Another thread runs and was there before the guards: it is looked at twice before it is watched.
GuardHandle watch_soon(const volatile void* begin, size_t bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (GuardHandle guard = watch(begin, bytes)) return guard;
    usleep(1000);
  }
  return kNoGuard;
}

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
    GuardHandle guard = watch(&word, 4, Protection::read_only);
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
    CHECK(watch(bytes + 12, 33) == kNoGuard && why_no_watchpoints() == NoWatchpoints::does_not_fit);
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
    GuardHandle guard = watch_soon(&word, 8);
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

// A register that was touched by one thread stays where it is on others: they run on, and the next guard sees them.
TEST_F(Watchpoints, LeftOnOtherThreads) {
  RUN_IN_CHILD({
    alignas(8) static volatile uint64_t words[2];
    static std::atomic<int> asked{0}, done{0};
    static std::atomic<bool> there{false};
    std::thread other([] {
      there = true;
      for (int round = 1; round <= 4; ++round) {
        while (asked != round) sched_yield();
        for (int i = 0; i < 3; ++i) words[0] = static_cast<uint64_t>(round);
        done = round;
      }
    });
    auto touch_there = [](int round) {
      asked = round;
      while (done != round) sched_yield();
    };
    while (!there) sched_yield();
    CHECK(start_guards());
    GuardHandle guard = watch_soon(&words[0], 8);
    CHECK(guard != kNoGuard && words[0] == 0 && lower_guard(guard).by == TouchBy::program);
    touch_there(1);  // of nothing that is watched
    guard = watch(&words[0], 8);
    CHECK(collect(guard).by == TouchBy::nobody);
    touch_there(2);
    CHECK(lower_guard(guard).by == TouchBy::program);
    // On another word, and back: touches of the first are nobody's meanwhile.
    guard = watch(&words[1], 8);
    GuardHandle first = watch(&words[0], 8);
    CHECK(words[0] == 2 && lower_guard(first).by == TouchBy::program);
    touch_there(3);
    CHECK(collect(guard).by == TouchBy::nobody && words[1] == 0 && lower_guard(guard).by == TouchBy::program);
    first = watch(&words[0], 8, Protection::read_only);
    CHECK(words[0] == 3 && collect(first).by == TouchBy::nobody);
    touch_there(4);
    CHECK(lower_guard(first).by == TouchBy::program);
    other.join();
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

}  // namespace
}  // namespace diogenes::agent
