// The thunk, the stubs and the patcher, on functions of this program and with the agent's decisions played by
// the test.
#include "agent/hooks/x86_64/thunk.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <cstdarg>
#include <cstring>

#include "agent/hooks/x86_64/near_memory.h"
#include "agent/hooks/x86_64/patcher.h"

namespace diogenes::agent {
namespace {

int decision = 1;    // what on_enter answers
int made_again = 0;  // how often on_exit has the call made again
int entered = 0, exited = 0;
uint64_t seen_arguments[16];
uint64_t seen_result = 0;
int frames_in_callee = 0;

}  // namespace

extern "C" int diogenes_on_enter(ThunkFrame* frame) {
  ++entered;
  Call call;
  for (int i = 0; i < 6; ++i) call.arguments.integer[i] = frame->integer[i];
  call.arguments.on_stack = frame->caller + 1;
  for (int i = 0; i < 14; ++i) seen_arguments[i] = call.argument(i);
  // The callee may not see what the agent does to registers.
  asm volatile("xor %%rdi, %%rdi; xor %%rsi, %%rsi; pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7" ::
                   : "rdi", "rsi", "xmm0", "xmm7");
  return decision;
}

extern "C" bool diogenes_on_exit(ThunkFrame* frame) {
  ++exited;
  seen_result = frame->result;
  asm volatile("pxor %%xmm0, %%xmm0; xor %%rcx, %%rcx; xor %%rdx, %%rdx" ::: "xmm0", "rcx", "rdx");
  return exited <= made_again;
}

namespace {

// Calls `function` by way of the thunk, as a stub would: r11 = hook.
__attribute__((naked, noinline)) void through_thunk() {
  asm volatile("mov hook_under_test@GOTPCREL(%rip), %r11; jmp *thunk_address(%rip)");
}

extern "C" {
Hook hook_under_test;
void (*thunk_address)() = diogenes_thunk;
}

template <typename Function>
Function* hooked(Function* function) {
  hook_under_test.original = reinterpret_cast<const void*>(function);
  void (*volatile opaque)() = through_thunk;  // or the compiler concludes that it cannot throw
  return reinterpret_cast<Function*>(opaque);
}

uint64_t digits(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m, uint64_t n) {
  uint64_t number = 0;
  for (uint64_t digit : {a, b, c, d, e, f, g, h, i, j, k, l, m, n}) number = number * 10 + digit;
  return number;
}

double mixed(int a, double x0, long b, double x1, double x2, double x3, double x4, double x5, double x6,
             double x7) {
  return a + b + x0 + 2 * x1 + 3 * x2 + 4 * x3 + 5 * x4 + 6 * x5 + 7 * x6 + 8 * x7;
}

int variadic_sum(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  va_end(list);
  return static_cast<int>(sum);
}

struct Pair {
  uint64_t first, second;
};
Pair two_words(uint64_t a, uint64_t b) { return {a + b, a * b}; }

[[gnu::noinline]] int count_frames() {
  frames_in_callee = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context*, void*) {
        ++frames_in_callee;
        return _URC_NO_REASON;
      },
      nullptr);
  return frames_in_callee;
}

void throws(int value) { throw value; }

class Thunk : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    decision = GetParam();
    entered = exited = made_again = 0;
  }
};

TEST_P(Thunk, PassesArgumentsInRegistersAndOnTheStack) {
  EXPECT_EQ(hooked(digits)(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5), 12345678912345u);
  EXPECT_EQ(entered, 1);
  EXPECT_EQ(exited, decision);
  uint64_t wanted[14] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5};
  EXPECT_EQ(memcmp(seen_arguments, wanted, sizeof wanted), 0);
  if (decision) {
    EXPECT_EQ(seen_result, 12345678912345u);
  }
}

TEST_P(Thunk, KeepsVectorRegistersAndResults) {
  EXPECT_EQ(hooked(mixed)(1, 0.5, 2, 1, 1, 1, 1, 1, 1, 1), 3 + 0.5 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
  EXPECT_EQ(hooked(variadic_sum)(3, 1.0, 2.0, 4.0), 7);
  Pair pair = hooked(two_words)(6, 7);
  EXPECT_EQ(pair.first, 13u);
  EXPECT_EQ(pair.second, 42u);
}

TEST_P(Thunk, CanBeUnwoundThrough) {
  int direct = count_frames();
  EXPECT_EQ(hooked(count_frames)(), direct + decision);  // the thunk's own frame, where it has one
  EXPECT_THROW(hooked(throws)(7), int);
}

int times_called = 0;
double numbered(int a, double x, long b, long c, long d, long e, long f, long g, double y) {
  const double sum = a + x + b + c + d + e + f + g + y;
  a = 0, b = c = d = e = f = g = 0, x = y = 0;  // arguments are the callee's own
  asm volatile("" : "+m"(g) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "x"(x), "x"(y));
  return 1000 * ++times_called + sum;
}

TEST(CallMadeAgain, HasItsArgumentsAndReturnsTheLastResult) {
  for (decision = 1; decision <= 2; ++decision) {
    entered = exited = times_called = 0;
    made_again = 2;
    EXPECT_EQ(hooked(numbered)(1, 0.5, 2, 3, 4, 5, 6, 7, 0.25), 3028.75);
    EXPECT_EQ(entered, 1);
    EXPECT_EQ(exited, 3);
  }
  made_again = 0;
}

INSTANTIATE_TEST_SUITE_P(CallThroughAndPassOn, Thunk, testing::Values(1, 0));

int64_t until = 0;
TEST(Gate, LetsCallsGoStraightOnWhereItPointsToZero) {
  decision = 1;
  entered = exited = 0;
  EXPECT_NE(diogenes_gate.load(), nullptr);
  const void* open = diogenes_gate.exchange(&until);
  EXPECT_EQ(hooked(digits)(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5), 12345678912345u);
  EXPECT_EQ(hooked(mixed)(1, 0.5, 2, 1, 1, 1, 1, 1, 1, 1), 3 + 0.5 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
  EXPECT_EQ(hooked(variadic_sum)(3, 1.0, 2.0, 4.0), 7);
  EXPECT_THROW(hooked(throws)(7), int);
  EXPECT_EQ(entered, 0);
  hook_under_test.always = true;
  EXPECT_EQ(hooked(two_words)(6, 7).second, 42u);
  EXPECT_EQ(entered, 1);
  hook_under_test.always = false;
  until = 1;
  EXPECT_EQ(hooked(two_words)(6, 7).first, 13u);
  EXPECT_EQ(entered, 2);
  EXPECT_EQ(exited, 2);
  until = 0;
  CallCount count{};
  hook_under_test.calls = &count;
  EXPECT_EQ(hooked(two_words)(6, 7).first, 13u);
  EXPECT_EQ(entered, 2);
  EXPECT_EQ(count.calls, 1u) << "what passes is counted";
  diogenes_gate.store(open);
  EXPECT_EQ(hooked(variadic_sum)(3, 1.0, 2.0, 4.0), 7);
  EXPECT_EQ(count.calls, 2u) << "and what is asked for";
  hook_under_test.calls = nullptr;
  entered = 2;
  EXPECT_EQ(hooked(two_words)(6, 7).first, 13u);
  EXPECT_EQ(entered, 3);
}

bool never(uint16_t) { return false; }

// A function whose first instruction is 5 bytes long, on a page of its own.
TEST(Patcher, WritesAHookOnlyOverTheBytesThatWerePlanned) {
  uint8_t* page = allocate_near(
      {reinterpret_cast<uintptr_t>(&count_frames), reinterpret_cast<uintptr_t>(&count_frames) + 16}, 4096);
  ASSERT_NE(page, nullptr);
  const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0x01, 0xf8, 0xc3};  // mov eax, 42; add eax, edi; ret
  memcpy(page, code, sizeof code);
  ASSERT_TRUE(make_executable(page, 4096));
  auto* function = reinterpret_cast<int (*)(int)>(page);
  AddressRange range = AddressRange::of(reinterpret_cast<uintptr_t>(page), 4096);
  HookSite site{};
  site.displaced = site.moved_length = 5;
  memcpy(site.expected, code, 5);
  memcpy(site.moved, code, 5);

  HookSite other = site;
  other.expected[1] = 41;
  uint8_t state = 0;
  install_hooks(&other, 1, range.begin, range, never, nullptr, &state);
  EXPECT_EQ(static_cast<HookState>(state), HookState::bytes_differ);
  EXPECT_EQ(memcmp(page, code, sizeof code), 0);

  decision = 1;
  entered = exited = 0;
  install_hooks(&site, 1, range.begin, range, never, nullptr, &state);
  EXPECT_EQ(static_cast<HookState>(state), HookState::installed);
  EXPECT_EQ(function(8), 50);
  EXPECT_EQ(entered, 1);
  EXPECT_EQ(exited, 1);
}

TEST(Patcher, FixesUpDisplacementsOfMovedInstructions) {
  uint8_t* page = allocate_near(
      {reinterpret_cast<uintptr_t>(&count_frames), reinterpret_cast<uintptr_t>(&count_frames) + 16}, 4096);
  ASSERT_NE(page, nullptr);
  // cmpl $7, 0x100(page); sete al; movzx eax, al; ret. The displacement is followed by a one-byte immediate.
  uint8_t code[] = {0x83, 0x3d, 0xf9, 0, 0, 0, 7, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};
  memcpy(page, code, sizeof code);
  page[0x100] = 7;
  ASSERT_TRUE(make_executable(page, 4096));
  auto* function = reinterpret_cast<int (*)()>(page);
  ASSERT_EQ(function(), 1);
  HookSite site{};
  site.displaced = site.moved_length = 7;
  memcpy(site.expected, code, 7);
  memcpy(site.moved, code, 7);
  site.fixup_count = 1;
  site.fixups[0].at = 2;
  site.fixups[0].trailing = 1;
  site.fixups[0].target = 0x100;
  AddressRange range = AddressRange::of(reinterpret_cast<uintptr_t>(page), 4096);
  uint8_t state = 0;
  decision = 1;
  install_hooks(&site, 1, range.begin, range, never, nullptr, &state);
  ASSERT_EQ(static_cast<HookState>(state), HookState::installed);
  EXPECT_EQ(function(), 1);
}

int notified = 0;
TEST(Patcher, HooksAnEmptyFunctionAndNothingElse) {
  uint8_t* page = allocate_near(
      {reinterpret_cast<uintptr_t>(&count_frames), reinterpret_cast<uintptr_t>(&count_frames) + 16}, 4096);
  ASSERT_NE(page, nullptr);
  memset(page, 0x90, 4096);
  const uint8_t empty[] = {0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
  const uint8_t marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
  const uint8_t full[] = {0xc3, 0x55, 0x48, 0x89, 0xe5};  // ret, then another function's first bytes
  memcpy(page, empty, sizeof empty);
  memcpy(page + 64, marked, sizeof marked);
  memcpy(page + 128, full, sizeof full);
  ASSERT_TRUE(make_executable(page, 4096));
  AddressRange range = AddressRange::of(reinterpret_cast<uintptr_t>(page), 4096);
  auto count = [] { ++notified; };
  EXPECT_TRUE(hook_empty_function(range.begin, range, count));
  EXPECT_TRUE(hook_empty_function(range.begin + 64, range, count));
  EXPECT_FALSE(hook_empty_function(range.begin + 128, range, count));
  EXPECT_FALSE(hook_empty_function(range.begin + 256, range, count));
  reinterpret_cast<void (*)()>(page)();
  reinterpret_cast<void (*)()>(page + 64)();
  EXPECT_EQ(notified, 2);
}

}  // namespace
}  // namespace diogenes::agent
