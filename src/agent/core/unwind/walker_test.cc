// The agent's own walk beside libgcc's, frame by frame, on stacks that are made at random.
#include "agent/core/unwind/walker.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <csignal>
#include <vector>

#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/thread_state.h"
#include "agent/core/unwind/frame_rule.h"
#include "agent/core/unwind/known_walks.h"
#include "agent/core/unwind/testing/random_calls.h"

namespace diogenes::agent {

thread_local constinit ThreadState thread_state;

namespace {
uint32_t modules_changed = 1;
}
uint32_t module_generation() { return modules_changed; }
uint32_t folder_generation() { return 1; }

namespace testing_unwind {

void RandomCalls::next() {
  if (depth == 0) return at_end();
  --depth;
  static const Function* const tables[] = {plain_functions, unoptimized_functions, frame_pointer_functions,
                                           small_functions};
  const unsigned table = random() % std::size(tables);
  tables[table][random() % static_cast<unsigned>(function_count)](*this);
}

}  // namespace testing_unwind

namespace {

using testing_unwind::RandomCalls;

// As the thunk does it: rbp below the return address, and the place of both handed on.
struct Below {
  uintptr_t rbp, return_address;
};
Registers caller_of(const Below* below) {
  return {.address = below->return_address,
          .rsp = reinterpret_cast<uintptr_t>(below + 1),
          .rbp = below->rbp,
          .exact = false,
          .place = 0};
}

std::vector<uintptr_t> by_libgcc(uintptr_t from_rsp) {
  struct Walk {
    uintptr_t from;
    std::vector<uintptr_t> addresses;
  } walk{from_rsp, {}};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* opaque) {
        auto& found = *static_cast<Walk*>(opaque);
        int exact = 0;
        const uintptr_t address = _Unwind_GetIPInfo(context, &exact);
        if (address == 0 || found.addresses.size() == kMaximumFrames) return _URC_END_OF_STACK;
        if (_Unwind_GetCFA(context) >= found.from) found.addresses.push_back(exact ? address : address - 1);
        return _URC_NO_REASON;
      },
      &walk);
  return walk.addresses;
}

std::vector<uintptr_t> addresses_of(const Frames& frames) {
  return {frames.addresses, frames.addresses + frames.count};
}

int compared = 0, frames_compared = 0;

extern "C" [[gnu::used]] void diogenes_compare_walks(const Below* below) {
  const Registers from = caller_of(below);
  Frames own;
  WordsRead words;
  EXPECT_EQ(walk_frames(from, own, words), Walked::whole);
  EXPECT_EQ(addresses_of(own), by_libgcc(from.rsp));
  for (int i = 1; i < own.count; ++i)
    EXPECT_EQ(*reinterpret_cast<uintptr_t*>(own.places[i]) - 1, own.addresses[i]);
  ++compared;
  frames_compared += own.count;
}

extern "C" [[gnu::used]] void diogenes_expect_giving_up(const Below* below) {
  Frames own;
  WordsRead words;
  EXPECT_EQ(walk_frames(caller_of(below), own, words), Walked::gave_up);
  EXPECT_GT(own.count, 0);
}

#define THROUGH_THUNK(NAME, TO)                                                      \
  [[gnu::naked, gnu::noinline]] void NAME() {                                        \
    asm volatile(                                                                    \
        "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; " \
        ".cfi_def_cfa_register %rbp; mov %rsp, %rdi; and $-16, %rsp; call " TO       \
        "; leave; "                                                                  \
        ".cfi_def_cfa %rsp, 8; .cfi_restore %rbp; ret");                             \
  }
THROUGH_THUNK(compare_walks, "diogenes_compare_walks")
THROUGH_THUNK(expect_giving_up, "diogenes_expect_giving_up")

TEST(Walker, FindsTheFramesThatLibgccFinds) {
  compared = frames_compared = 0;
  for (unsigned seed = 0; seed < 3'000 && !HasFailure(); ++seed) {
    RandomCalls calls{std::mt19937(seed), 0, compare_walks};
    calls.depth = static_cast<int>(calls.random() % 40);
    calls.next();
  }
  EXPECT_GE(compared, 3'000);
  EXPECT_GT(frames_compared, 3'000 * 20);
}

TEST(Walker, GoesUpToTheStartOfAThread) {
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  for (unsigned seed = 0; seed < 100; ++seed) {
                    RandomCalls calls{std::mt19937(seed), 12, compare_walks};
                    calls.next();
                  }
                  return nullptr;
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
}

TEST(Walker, LeavesASignalsFrameToLibgcc) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    expect_giving_up();
    asm volatile("");
  };
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Walker, BeginsWhereASignalInterrupted) {
  static volatile bool walked;
  static std::vector<uintptr_t> expected;
  struct sigaction action {
  }, before{};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t*, void* opaque) {
    auto* context = static_cast<ucontext_t*>(opaque);
    auto* registers = context->uc_mcontext.gregs;
    Frames own;
    WordsRead words;
    EXPECT_EQ(walk_frames({.address = static_cast<uintptr_t>(registers[REG_RIP]),
                           .rsp = static_cast<uintptr_t>(registers[REG_RSP]),
                           .rbp = static_cast<uintptr_t>(registers[REG_RBP]),
                           .exact = true,
                           .place = 0},
                          own, words),
              Walked::whole);
    auto all = by_libgcc(0);
    // libgcc begins in this handler.
    while (!all.empty() && all.front() != static_cast<uintptr_t>(registers[REG_RIP])) all.erase(all.begin());
    EXPECT_EQ(addresses_of(own), all);
    EXPECT_GT(own.count, 3);
    walked = true;
    registers[REG_RIP] += 2;  // behind ud2
  };
  sigaction(SIGILL, &action, &before);
  for (unsigned seed = 0; seed < 50; ++seed) {
    walked = false;
    RandomCalls calls{std::mt19937(seed), 9, [] { asm volatile("ud2"); }};
    calls.next();
    EXPECT_TRUE(walked);
  }
  sigaction(SIGILL, &before, nullptr);
}

[[gnu::noinline]] void call_deeper(int depth) {
  if (depth == 0)
    compare_walks();
  else
    call_deeper(depth - 1);
  asm volatile("");
}

TEST(Walker, CutsWhatIsTooDeep) {
  RandomCalls calls{std::mt19937(1), 400, [] { call_deeper(2 * kMaximumFrames); }};
  calls.next();
}

// Stacks that lead astray: what is read there is not there, or makes no sense.
struct FakeStack {
  FakeStack() {
    memory = static_cast<uintptr_t*>(
        mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory + 1024, 4096, PROT_NONE);
  }
  ~FakeStack() { munmap(memory, 3 * 4096); }
  uintptr_t at(int word) const { return reinterpret_cast<uintptr_t>(memory + word); }
  uintptr_t* memory;
};

// A place in a function that has its frame in rbp.
uintptr_t place_with_rbp() {
  for (auto address = reinterpret_cast<uintptr_t>(&diogenes_compare_walks);; ++address)
    if (read_rule(address).kind == FrameRule::Cfa::from_rsp) return address;
}

TEST(Walker, SurvivesStacksThatAreNotThere) {
  const FakeStack stack;
  const uintptr_t code = place_with_rbp();
  for (const uintptr_t rsp :
       {uintptr_t{0}, uintptr_t{8}, ~uintptr_t{7}, stack.at(1023), stack.at(1024), stack.at(950),
        uintptr_t{0x7fff'ffff'f000}, uintptr_t{0xdead'0000'0000'0000}, stack.at(0) + 4}) {
    for (int i = 0; i < 1024; ++i) stack.memory[i] = code + 1;
    Frames frames;
    WordsRead words;
    thread_state.readable_stack = {};
    EXPECT_EQ(
        walk_frames({.address = code + 1, .rsp = rsp, .rbp = rsp, .exact = false, .place = 0}, frames, words),
        Walked::astray);
  }
}

TEST(Walker, SurvivesRandomStacks) {
  const FakeStack stack;
  std::mt19937_64 random(7);
  const uintptr_t code = reinterpret_cast<uintptr_t>(&diogenes_compare_walks);
  for (int round = 0; round < 20'000; ++round) {
    for (int i = 0; i < 64; ++i) {
      const uint64_t what = random();
      stack.memory[960 + i] = what % 3 == 0   ? code - 2'000 + random() % 4'000
                              : what % 3 == 1 ? stack.at(900 + static_cast<int>(random() % 200))
                                              : random();
    }
    Frames frames;
    WordsRead words;
    walk_frames({.address = code - 2'000 + random() % 4'000,
                 .rsp = stack.at(960 + static_cast<int>(random() % 64)),
                 .rbp = stack.at(900 + static_cast<int>(random() % 200)),
                 .exact = random() % 2 == 0,
                 .place = 0},
                frames, words);
    EXPECT_LE(frames.count, kMaximumFrames);
  }
}

// A stack's number is made of its addresses here, so a walk that is taken for another one shows.
uint32_t number_of(const Frames& frames) {
  uint64_t hash = 1;
  for (int i = 0; i < frames.count; ++i) hash = (hash ^ frames.addresses[i]) * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 32) | 1;
}
int walks_found = 0;

extern "C" [[gnu::used]] void diogenes_find_walk(const Below* below) {
  const Registers from = caller_of(below);
  Frames own;
  WordsRead words;
  ASSERT_EQ(walk_frames(from, own, words), Walked::whole);
  const uint32_t found = find_known_walk(from);
  if (found != kNoStack) {
    EXPECT_EQ(found, number_of(own));
    ++walks_found;
    return;
  }
  keep_walk(from, words, number_of(own));
  EXPECT_TRUE(words.count < 0 || find_known_walk(from) == number_of(own));
}
THROUGH_THUNK(find_walk, "diogenes_find_walk")

TEST(KnownWalks, AreThoseThatWouldBeTheSame) {
  walks_found = 0;
  // Depths and paths come again, in another order each time.
  std::mt19937 random(3);
  for (int round = 0; round < 20'000 && !HasFailure(); ++round) {
    RandomCalls calls{std::mt19937(random() % 50), static_cast<int>(random() % 12), find_walk};
    calls.next();
  }
  EXPECT_GT(walks_found, 5'000);
}

TEST(KnownWalks, AreForgottenWhenModulesChange) {
  uintptr_t stack[] = {0, 0};
  const Registers from{
      .address = 1, .rsp = reinterpret_cast<uintptr_t>(stack), .rbp = 0, .exact = false, .place = 0};
  WordsRead words;
  words.add(1, 0);
  keep_walk(from, words, 7);
  EXPECT_EQ(find_known_walk(from), 7u);
  stack[1] = 1;
  EXPECT_EQ(find_known_walk(from), kNoStack);
  stack[1] = 0;
  EXPECT_EQ(find_known_walk(from), 7u);
  ++modules_changed;
  EXPECT_EQ(find_known_walk(from), kNoStack);
}

// As a library has them that launches each of its kernels from the same place.
TEST(KnownWalks, SeveralBeginAtOnePlace) {
  uintptr_t stack[] = {0, 0};
  const Registers from{
      .address = 2, .rsp = reinterpret_cast<uintptr_t>(stack), .rbp = 0, .exact = false, .place = 0};
  for (uint32_t i = 0; i < 8; ++i) {
    stack[1] = i;
    WordsRead words;
    words.add(1, i);
    keep_walk(from, words, 10 + i);
  }
  for (uint32_t i = 0; i < 8; ++i) {
    stack[1] = i;
    EXPECT_EQ(find_known_walk(from), 10 + i);
  }
}

TEST(KnownWalks, RbpCountsWhereItLedThem) {
  uintptr_t stack[] = {0, 0};
  Registers from{
      .address = 3, .rsp = reinterpret_cast<uintptr_t>(stack), .rbp = 5, .exact = false, .place = 0};
  WordsRead words;
  words.add(1, 0);
  keep_walk(from, words, 7);
  from.rbp = 6;
  EXPECT_EQ(find_known_walk(from), 7u);
  from.address = 4;
  words.rbp = true;
  keep_walk(from, words, 8);
  EXPECT_EQ(find_known_walk(from), 8u);
  from.rbp = 5;
  EXPECT_EQ(find_known_walk(from), kNoStack);
}

TEST(FrameRule, IsForgottenWhenModulesChange) {
  const auto address = reinterpret_cast<uintptr_t>(&diogenes_compare_walks) + 20;
  const FrameRule rule = RuleCache().behind_call(address);
  EXPECT_EQ(rule, read_rule(address - 1));
  ++modules_changed;
  EXPECT_EQ(RuleCache().behind_call(address), rule);
}

TEST(FrameRule, CodeThatNobodyDescribesIsTheLast) {
  EXPECT_EQ(read_rule(0).kind, FrameRule::Cfa::unlisted);
  EXPECT_EQ(read_rule(reinterpret_cast<uintptr_t>(&modules_changed)).kind, FrameRule::Cfa::unlisted);
}

}  // namespace
}  // namespace diogenes::agent
