// First touches, neighbours, protections, and memory that goes away.
#include "agent/watching/guard/guards.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "agent/watching/guard/testing/child.h"

namespace diogenes::agent {
namespace {

// They would be given back readable and writable.
TEST(Guards, AreNotRaisedWhereTheProgramGaveOtherRights) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(3);
    auto guarded = [memory](int page) {
      GuardHandle guard = raise_guard(range_of(memory + page * 4096, 4096), Protection::no_access);
      if (guard) lower_guard(guard);
      return guard != kNoGuard;
    };
    CHECK(guarded(0));
    CHECK(mprotect(memory, 2 * 4096, PROT_READ) == 0);
    CHECK(!guarded(0) && !guarded(1) && guarded(2));
    CHECK(mprotect(memory, 4096, PROT_READ | PROT_WRITE) == 0);
    CHECK(guarded(0) && !guarded(1));
    CHECK(mprotect(memory + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    CHECK(!guarded(1));
    CHECK(munmap(memory + 4096, 4096) == 0);
    CHECK(mmap(memory + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          memory + 4096);
    CHECK(guarded(1));
  });
}

TEST(Guards, FirstReadIsSeenWithItsAddress) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(4);
    memory[5000] = 42;
    GuardHandle guard = raise_guard(range_of(memory, 4 * 4096), Protection::no_access);
    CHECK(guard != kNoGuard && any_guard_up());
    CHECK(collect(guard).by == TouchBy::nobody);
    Nanoseconds before = monotonic_now();
    CHECK(*static_cast<volatile char*>(memory + 5000) == 42);
    Touch touch = collect(guard);
    CHECK(touch.by == TouchBy::program && touch.access == Access::read);
    CHECK(touch.address == address_of(memory + 5000) && touch.stack != 0);
    CHECK(touch.at >= before && touch.at <= monotonic_now());
    CHECK(!any_guard_up());
    memory[0] = 1;  // open altogether
    CHECK(lower_guard(guard).address == address_of(memory + 5000));
    CHECK(collect(guard).by == TouchBy::nobody);  // a handle that is no more
  });
}

// By a thread whose faults come to the agent, and by one that nobody watches.
TEST(Guards, MemoryThatIsGoneIsNotCopied) {
  RUN_IN_CHILD({
    char *memory = pages(3), to[8192] = {};
    memset(memory, 7, 2 * 4096);
    CHECK(munmap(memory + 2 * 4096, 4096) == 0);
    auto copies = [&](int at) { return copy_watched_if_there(to, memory + at, sizeof to); };
    CHECK(copies(0) && !copies(1));
    CHECK(start_guards());
    memset(to, 0, sizeof to);
    CHECK(copies(0) && memcmp(to, memory, sizeof to) == 0);
    CHECK(!copies(1) && !copies(4096));
    GuardHandle guard = raise_guard(range_of(memory, 100), Protection::no_access);
    CHECK(!copies(0));
    CHECK(collect(guard).by == TouchBy::nobody);
  });
}

// A mapped file that was cut off: its pages answer with SIGBUS.
TEST(Guards, MemoryBehindTheEndOfAFileIsNotCopied) {
  RUN_IN_CHILD({
    const int file = memfd_create("cut off", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, 2 * 4096) == 0);
    auto* memory = static_cast<char*>(mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
    CHECK(memory != MAP_FAILED && ftruncate(file, 4096) == 0);
    CHECK(start_guards());
    char to[4096];
    CHECK(copy_watched_if_there(to, memory, sizeof to));
    CHECK(!copy_watched_if_there(to, memory + 4096, 1));
    // The program's own access is its own affair.
    static sigjmp_buf back;
    struct sigaction action {};
    action.sa_handler = [](int) { siglongjmp(back, 1); };
    CHECK(sigaction(SIGBUS, &action, nullptr) == 0);
    if (sigsetjmp(back, 1) == 0) {
      memory[4096] = 1;
      CHECK(false);
    }
    CHECK(!copy_watched_if_there(to, memory + 4096, 1));
  });
}

TEST(Guards, FirstWriteIsSeen) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory + 64, 8), Protection::no_access);
    *reinterpret_cast<volatile uint64_t*>(memory + 64) = 7;
    Touch touch = lower_guard(guard);
    CHECK(touch.by == TouchBy::program && touch.access == Access::write &&
          touch.address == address_of(memory + 64));
  });
}

TEST(Guards, UntouchedMemoryIsGivenBack) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    memory[9] = 3;
    GuardHandle guard = raise_guard(range_of(memory, 100), Protection::no_access);
    CHECK(lower_guard(guard).by == TouchBy::nobody);
    CHECK(memory[9] == 3);
  });
}

TEST(Guards, BesideIsSteppedOverAndTheGuardStays) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    for (int i = 0; i < 20; ++i) {
      *static_cast<volatile char*>(memory + 8 * i) = static_cast<char>(i);
      CHECK(*static_cast<volatile char*>(memory + 2048 + i) == 0);
    }
    // The allocator's header right before a block: eight bytes that end where the range begins.
    *reinterpret_cast<volatile uint64_t*>(memory + 1016) = 1;
    CHECK(collect(guard).by == TouchBy::nobody);
    CHECK(any_guard_up());
    CHECK(*static_cast<volatile char*>(memory + 1087) == 0);
    Touch touch = lower_guard(guard);
    CHECK(touch.by == TouchBy::program && touch.address == address_of(memory + 1087));
  });
}

TEST(Guards, AnAccessThatRunsIntoTheRangeIsATouch) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    *reinterpret_cast<volatile uint64_t*>(memory + 1020) = 1;  // 4 bytes before, 4 bytes inside
    Touch touch = lower_guard(guard);
    CHECK(touch.by == TouchBy::program && touch.address == address_of(memory + 1024));
  });
}

TEST(Guards, AStringInstructionBesideOneEndAndIntoTheOther) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    const char* from = memory + 8;
    char* to = memory + 1040;
    asm volatile("movsq" : "+S"(from), "+D"(to) : : "memory");
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST(Guards, TooManyTouchesBesideGiveItUp) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    for (int i = 0; i < 1000000; ++i) *static_cast<volatile char*>(memory) = static_cast<char>(i);
    CHECK(lower_guard(guard).by == TouchBy::exposed);
  });
}

TEST(Guards, APageThatWearsGuardsOutGivesThemFewerSteps) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(2);
    auto worn_after = [&](int touches) {
      GuardHandle guard = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
      for (int i = 0; i < touches; ++i) *static_cast<volatile char*>(memory) = static_cast<char>(i);
      return lower_guard(guard).by == TouchBy::exposed;
    };
    CHECK(!worn_after(64) && worn_after(65));  // 64 at first
    CHECK(!worn_after(32) && worn_after(33));
    for (int steps : {16, 8, 4, 2, 1}) CHECK(worn_after(steps + 1));
    for (int i = 0; i < 3; ++i) CHECK(!worn_after(0) && worn_after(1));
    GuardHandle other = raise_guard(range_of(memory, 8192), Protection::no_access);
    uint32_t before = touch_count();
    CHECK(collect(other).by == TouchBy::nobody && touch_count() == before);
    memory[5000] = 1;
    CHECK(touch_count() == before + 1 && lower_guard(other).by == TouchBy::program);
  });
}

// rep stosb, from `at` on or backwards from there.
void fill(char* at, size_t bytes, bool backwards = false) {
  if (backwards)
    asm volatile("std; rep stosb; cld" : "+D"(at), "+c"(bytes) : "a"(1) : "memory");
  else
    asm volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(1) : "memory");
}

TEST(Guards, ARepeatedStringInstructionIsNotSteppedThrough) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(3);
    const auto after = [&](char* at, size_t bytes, bool backwards) {
      GuardHandle guard = raise_guard(range_of(memory + 4096 + 2000, 100), Protection::no_access);
      fill(at, bytes, backwards);
      return lower_guard(guard);
    };
    // It runs into the range: that is its touch, whatever lies before.
    Touch touch = after(memory, 3 * 4096, false);
    CHECK(touch.by == TouchBy::program && touch.access == Access::write && touch.steps == 0);
    touch = after(memory + 3 * 4096 - 1, 3 * 4096, true);
    CHECK(touch.by == TouchBy::program && touch.steps == 0);
    touch = after(memory + 4096 + 1900, 101, false);
    CHECK(touch.by == TouchBy::program);
    // It ends before the range: stepped over where it is short, else the range stands open.
    touch = after(memory + 4096, 20, false);
    CHECK(touch.by == TouchBy::nobody && touch.steps >= 20);
    touch = after(memory, 4096 + 2000, false);
    CHECK(touch.by == TouchBy::exposed && touch.steps <= 1);
    touch = after(memory + 2 * 4096 + 10, 1900, true);  // ends behind the range
    CHECK(touch.by == TouchBy::exposed && touch.steps <= 1);
  });
}

TEST(Guards, TwoGuardsOnOnePage) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle first = raise_guard(range_of(memory, 64), Protection::no_access);
    GuardHandle second = raise_guard(range_of(memory + 2048, 64), Protection::no_access);
    GuardHandle over = raise_guard(range_of(memory + 32, 64), Protection::no_access);
    memory[2050] = 1;
    CHECK(collect(second).by == TouchBy::program);
    CHECK(collect(first).by == TouchBy::nobody && collect(over).by == TouchBy::nobody);
    memory[40] = 1;  // in two ranges
    CHECK(collect(first).address == address_of(memory + 40) &&
          collect(over).address == address_of(memory + 40));
    CHECK(!any_guard_up());
  });
}

TEST(Guards, ReadOnlyLetsReadersPass) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(2);
    GuardHandle source = raise_guard(range_of(memory, 8192), Protection::read_only);
    CHECK(*static_cast<volatile char*>(memory + 100) == 0);
    CHECK(collect(source).by == TouchBy::nobody);
    GuardHandle destination = raise_guard(range_of(memory + 4096, 10), Protection::no_access);
    CHECK(*static_cast<volatile char*>(memory + 4096) == 0);
    CHECK(collect(destination).by == TouchBy::program && collect(source).by == TouchBy::nobody);
    // The page of both is readable again, and not writable.
    memory[4096] = 1;
    Touch touch = lower_guard(source);
    CHECK(touch.by == TouchBy::program && touch.access == Access::write &&
          touch.address == address_of(memory + 4096));
  });
}

TEST(Guards, AnAccessAcrossPagesWithTwoGuards) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(3);
    GuardHandle low = raise_guard(range_of(memory + 4000, 10), Protection::no_access);
    GuardHandle high = raise_guard(range_of(memory + 4096 + 100, 10), Protection::no_access);
    *reinterpret_cast<volatile uint64_t*>(memory + 4092) = ~0ull;  // beside both, on both pages
    CHECK(collect(low).by == TouchBy::nobody && collect(high).by == TouchBy::nobody);
    CHECK(*reinterpret_cast<volatile uint64_t*>(memory + 4092) == ~0ull);
    memory[4005] = 1;
    memory[4096 + 105] = 1;
    CHECK(lower_guard(low).by == TouchBy::program && lower_guard(high).by == TouchBy::program);
  });
}

TEST(Guards, TheDriversTouchIsTheDrivers) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = raise_guard(range_of(memory, 64), Protection::no_access);
    enter_driver();
    memory[3] = 1;
    leave_driver();
    CHECK(lower_guard(guard).by == TouchBy::driver);
  });
}

TEST(Guards, OpenedRangesReportWhy) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(4);
    GuardHandle inside = raise_guard(range_of(memory, 100), Protection::no_access);
    GuardHandle beside = raise_guard(range_of(memory + 200, 100), Protection::no_access);
    open_range(range_of(memory + 50, 10), TouchBy::driver);
    CHECK(collect(inside).by == TouchBy::driver && collect(beside).by == TouchBy::nobody);
    open_all(TouchBy::given_up);
    CHECK(lower_guard(beside).by == TouchBy::given_up && lower_guard(inside).by == TouchBy::driver);
    memory[250] = 1;
  });
}

TEST(Guards, FreedMemoryIsGone) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    for (size_t bytes : {size_t{100}, size_t{5000}, size_t{1} << 20}) {
      char* small = static_cast<char*>(malloc(bytes));
      GuardHandle guard = raise_guard(range_of(small, bytes), Protection::no_access);
      CHECK(guard != kNoGuard);
      free(small);
      CHECK(lower_guard(guard).by == TouchBy::gone);
    }
    for (size_t bytes : {size_t{100}, size_t{1} << 20}) {
      char* block = static_cast<char*>(malloc(bytes));
      memset(block, 5, bytes);
      GuardHandle guard = raise_guard(range_of(block, bytes), Protection::no_access);
      block = static_cast<char*>(realloc(block, bytes * 4));
      CHECK(lower_guard(guard).by == TouchBy::program);  // copied: a use
      for (size_t i = 0; i < bytes; ++i) CHECK(block[i] == 5);
      free(block);
    }
    auto* object = new std::vector<char>(100000);
    GuardHandle guard = raise_guard(range_of(object->data(), object->size()), Protection::no_access);
    delete object;
    CHECK(lower_guard(guard).by == TouchBy::gone);
  });
}

TEST(Guards, UnmappedAndDroppedMemoryIsGoneMovedIsUsed) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(4);
    GuardHandle guard = raise_guard(range_of(memory, 4 * 4096), Protection::no_access);
    CHECK(munmap(memory + 4096, 4096) == 0);
    CHECK(lower_guard(guard).by == TouchBy::exposed);  // the rest is still there
    memory[0] = 1, memory[3 * 4096] = 1;

    memory = pages(4);
    memory[10] = 9;
    guard = raise_guard(range_of(memory, 100), Protection::no_access);
    char* moved = static_cast<char*>(mremap(memory, 4 * 4096, 64 * 4096, MREMAP_MAYMOVE));
    CHECK(moved != MAP_FAILED && moved[10] == 9);
    CHECK(lower_guard(guard).by == TouchBy::system_call);

    guard = raise_guard(range_of(moved, 4096), Protection::no_access);
    CHECK(madvise(moved, 4096, MADV_DONTNEED) == 0 && moved[10] == 0);
    CHECK(lower_guard(guard).by == TouchBy::gone);

    guard = raise_guard(range_of(moved, 4096), Protection::no_access);
    CHECK(mmap(moved, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moved);
    CHECK(lower_guard(guard).by == TouchBy::gone);
    CHECK(moved[0] == 0);
  });
}

TEST(Guards, TheProgramsOwnProtectionStands) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(2);
    GuardHandle guard = raise_guard(range_of(memory, 4096), Protection::no_access);
    CHECK(mprotect(memory, 4096, PROT_READ) == 0);
    TouchBy by = lower_guard(guard).by;
    CHECK(by == TouchBy::system_call || by == TouchBy::exposed);
    CHECK(memory[0] == 0);
  });
}

TEST(Guards, StacksAreRefused) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char local[10000];
    CHECK(raise_guard(range_of(local, sizeof local), Protection::no_access) == kNoGuard);
    CHECK(raise_guard(range_of(nullptr, 10), Protection::no_access) == kNoGuard);
    CHECK(raise_guard(range_of(local, 0), Protection::no_access) == kNoGuard);
  });
}

TEST(Guards, ManyUntilTheLimit) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(80000);
    std::vector<GuardHandle> guards;
    for (int i = 0; i < 40000; ++i) {
      GuardHandle guard = raise_guard(range_of(memory + 2 * i * 4096l, 8), Protection::no_access);
      if (guard == kNoGuard) break;
      guards.push_back(guard);
    }
    CHECK(guards.size() > 4000 && guards.size() <= 16384);
    memory[0] = 1;
    CHECK(collect(guards[0]).by == TouchBy::program && collect(guards[1]).by == TouchBy::nobody);
    for (GuardHandle guard : guards) lower_guard(guard);
    for (int i = 0; i < 80000; ++i) memory[i * 4096l] = 1;
    CHECK(raise_guard(range_of(memory, 8), Protection::no_access) != kNoGuard);
  });
}

}  // namespace
}  // namespace diogenes::agent
