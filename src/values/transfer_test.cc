// Random instructions, run twice with two values in one place: whatever differs behind them depends on the value, and must
// be said to hold it.
#include "values/transfer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace diogenes::values {
namespace {

using Code = std::vector<uint8_t>;

constexpr uintptr_t kTrapFlag = 0x100, kStatus = 0x8d5;  // CF, PF, AF, ZF, SF, OF
constexpr uint32_t kData = 256, kValueAt = 32;

struct State {
  uint64_t general[16];
  uint8_t vector[16][16];
  uint64_t flags;
  uint8_t data[kData];   // at rdi
  uint8_t stack[kData];  // around rsp
};

// The machine on which the code runs: this thread, in a signal's handler.
struct Machine {
  uint8_t* code = nullptr;
  uint8_t* data = nullptr;
  uint8_t* stack = nullptr;
  const State* begin = nullptr;
  State end{};
  Taint* taint = nullptr;  // null: only run
  uint64_t steps = 0, limit = 0;
  uintptr_t code_end = 0;
  bool consequence = false;
  ucontext_t before{};
  uint8_t floating[512] = {};
} machine;

constexpr int kInContext[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

void enter(ucontext_t* context) {
  machine.before = *context;
  memcpy(machine.floating, context->uc_mcontext.fpregs, sizeof machine.floating);
  const State& state = *machine.begin;
  for (int i = 0; i < 16; ++i)
    context->uc_mcontext.gregs[kInContext[i]] = static_cast<greg_t>(state.general[i]);
  memcpy(context->uc_mcontext.fpregs->_xmm, state.vector, sizeof state.vector);
  memcpy(machine.data, state.data, kData);
  memcpy(machine.stack, state.stack, kData);
  auto& flags = context->uc_mcontext.gregs[REG_EFL];
  flags = static_cast<greg_t>((static_cast<uint64_t>(flags) & ~kStatus) | state.flags | kTrapFlag);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(machine.code);
}

void leave(ucontext_t* context) {
  State& state = machine.end;
  for (int i = 0; i < 16; ++i)
    state.general[i] = static_cast<uint64_t>(context->uc_mcontext.gregs[kInContext[i]]);
  memcpy(state.vector, context->uc_mcontext.fpregs->_xmm, sizeof state.vector);
  state.flags = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_EFL]) & kStatus;
  memcpy(state.data, machine.data, kData);
  memcpy(state.stack, machine.stack, kData);
  memcpy(context->uc_mcontext.gregs, machine.before.uc_mcontext.gregs, sizeof context->uc_mcontext.gregs);
  memcpy(context->uc_mcontext.fpregs, machine.floating, sizeof machine.floating);
}

void on_enter(int, siginfo_t*, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  enter(context);
  if (!machine.taint) return;
  Decoded decoded;
  if (!decode(machine.code, 15, decoded) ||
      apply(decoded, context->uc_mcontext, reinterpret_cast<uintptr_t>(machine.code), *machine.taint).kind !=
          Effect::none) {
    machine.consequence = true;
    leave(context);
  }
}

void on_trap(int, siginfo_t*, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  const auto at = static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (++machine.steps == machine.limit || at >= machine.code_end) return leave(context);
  if (!machine.taint) return;
  Decoded decoded;
  if (!decode(reinterpret_cast<const uint8_t*>(at), 15, decoded) ||
      apply(decoded, context->uc_mcontext, at, *machine.taint).kind != Effect::none)
    leave(context);
}

class Transfer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(open_decoder());
    auto* memory = static_cast<uint8_t*>(
        mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    machine.code = memory;
    machine.data = memory + 4096;
    machine.stack = memory + 2 * 4096;
    static char handler_stack[1 << 16];
    const stack_t alternate{handler_stack, 0, sizeof handler_stack};
    sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // the code's stack is data here
    sigfillset(&action.sa_mask);
    action.sa_sigaction = on_enter;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, nullptr);
  }

  // Behind at most `limit` instructions. `taint`: follows it.
  static State run(const Code& code, const State& begin, Taint* taint, uint64_t limit) {
    memset(machine.code, 0x90, 64 * 16);
    memcpy(machine.code, code.data(), code.size());
    machine.code_end = reinterpret_cast<uintptr_t>(machine.code) + code.size();
    machine.begin = &begin;
    machine.taint = taint;
    machine.steps = 0;
    machine.limit = limit;
    machine.consequence = false;
    raise(SIGUSR1);
    return machine.end;
  }
};

// ---- Random code: registers but rsp and rdi, and memory at (%rdi)

struct VectorKind {
  uint8_t prefix, opcode;
  bool immediate = false, to_general = false, only_registers = false;
};
constexpr VectorKind kVectors[] = {{0, 0x10},
                                   {0, 0x11},
                                   {0, 0x28},
                                   {0, 0x29},
                                   {0xf3, 0x10},
                                   {0xf3, 0x11},
                                   {0xf2, 0x10},
                                   {0xf2, 0x11},
                                   {0x66, 0x6e},
                                   {0x66, 0x7e},
                                   {0xf3, 0x7e},
                                   {0x66, 0xd6},
                                   {0x66, 0x6f},
                                   {0x66, 0x7f},
                                   {0, 0x14},
                                   {0, 0x15},
                                   {0, 0xc6, true},
                                   {0x66, 0x70, true},
                                   {0x66, 0x61},
                                   {0x66, 0x62},
                                   {0x66, 0x6c},
                                   {0x66, 0x6d},
                                   {0x66, 0xef},
                                   {0x66, 0xeb},
                                   {0x66, 0xdb},
                                   {0xf3, 0x58},
                                   {0xf3, 0x59},
                                   {0xf3, 0x5c},
                                   {0xf3, 0x5d},
                                   {0xf3, 0x5a},
                                   {0xf2, 0x58},
                                   {0xf2, 0x5e},
                                   {0xf2, 0x51},
                                   {0xf2, 0x5a},
                                   {0, 0x58},
                                   {0x66, 0x59},
                                   {0xf3, 0x2a},
                                   {0xf2, 0x2a},
                                   {0xf3, 0x2c, false, true},
                                   {0xf2, 0x2d, false, true},
                                   {0, 0x2e},
                                   {0x66, 0x2f},
                                   {0x66, 0xfe},
                                   {0x66, 0xd4},
                                   {0x66, 0xd7, false, true, true},
                                   {0, 0x12, false, false},
                                   {0xf2, 0x12},
                                   {0xf3, 0x16},
                                   {0, 0x16}};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Code code(int instructions) {
    Code code;
    for (int i = 0; i < instructions; ++i) {
      switch (pick(4)) {
        case 0:
        case 1:
          general(code);
          break;
        case 2:
          vector(code);
          break;
        default:
          vex(code);
      }
    }
    return code;
  }

  State state() {
    State state;
    auto* bytes = reinterpret_cast<uint8_t*>(&state);
    for (size_t i = 0; i < sizeof state; ++i) bytes[i] = static_cast<uint8_t>(random_());
    // Some numbers that conversions and additions do something with.
    const double doubles[] = {1.5, -3.25, 1e6, 0.125};
    memcpy(state.data + 64, doubles, sizeof doubles);
    state.general[4] = reinterpret_cast<uintptr_t>(machine.stack) + kData / 2;
    state.general[7] = reinterpret_cast<uintptr_t>(machine.data);
    state.flags &= kStatus;
    return state;
  }

  uint64_t number() { return random_(); }

 private:
  uint32_t pick(uint32_t among) { return static_cast<uint32_t>(random_() % among); }
  template <size_t size>
  uint8_t one_of(const uint8_t (&list)[size]) {
    return list[pick(size)];
  }
  int a_register() {
    static constexpr uint8_t kUsable[] = {0, 1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    return one_of(kUsable);
  }

  // ModRM with `reg`, and a register or memory.
  void operands(Code& code, int reg, int rm, bool memory) {
    if (memory) {
      code.push_back(static_cast<uint8_t>(0x40 | (reg & 7) << 3 | 7));
      code.push_back(static_cast<uint8_t>(16 * pick(8)));
    } else {
      code.push_back(static_cast<uint8_t>(0xc0 | (reg & 7) << 3 | (rm & 7)));
    }
  }
  void rex(Code& code, bool wide, int reg, int rm, bool memory) {
    code.push_back(static_cast<uint8_t>(0x40 | wide << 3 | (reg >> 3) << 2 | (memory ? 0 : rm >> 3)));
  }

  void general(Code& code) {
    static constexpr uint8_t kPlain[] = {0x01, 0x03, 0x09, 0x0b, 0x11, 0x13, 0x19, 0x1b, 0x21, 0x23, 0x29,
                                         0x2b, 0x31, 0x33, 0x39, 0x3b, 0x85, 0x87, 0x89, 0x8b, 0x00, 0x02,
                                         0x08, 0x88, 0x8a, 0x38, 0x84, 0x86, 0x89, 0x8b, 0x89, 0x8b, 0x63};
    static constexpr uint8_t kLong[] = {0xb6, 0xb7, 0xbe, 0xbf, 0xaf, 0x44,
                                        0x4c, 0x94, 0x9c, 0xc1, 0xb1, 0xc0};
    static constexpr uint8_t kUnary[] = {0, 1};
    const int reg = a_register(), rm = a_register();
    const bool memory = pick(3) == 0, wide = pick(2) != 0;
    switch (pick(9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (pick(8) == 0) code.push_back(0x66);
        rex(code, wide, reg, rm, memory);
        code.push_back(one_of(kPlain));
        return operands(code, reg, rm, memory);
      case 4:
        rex(code, wide, reg, rm, memory);
        code.push_back(0x0f);
        code.push_back(one_of(kLong));
        return operands(code, reg, rm, memory);
      case 5: {  // shifts
        static constexpr uint8_t kKinds[] = {0, 1, 4, 5, 7};
        const bool by_cl = pick(2) != 0;
        rex(code, wide, 0, rm, memory);
        code.push_back(by_cl ? 0xd3 : 0xc1);
        operands(code, one_of(kKinds), rm, memory);
        if (!by_cl) code.push_back(static_cast<uint8_t>(pick(64)));
        return;
      }
      case 6: {
        static constexpr uint8_t kKinds[] = {2, 3, 4, 5};  // not, neg, mul, imul
        rex(code, wide, 0, rm, memory);
        const bool increments = pick(2) != 0;
        code.push_back(increments ? 0xff : 0xf7);
        return operands(code, increments ? one_of(kUnary) : one_of(kKinds), rm, memory);
      }
      case 7:  // push, pop
        rex(code, false, 0, rm, false);
        code.push_back(static_cast<uint8_t>((pick(2) ? 0x50 : 0x58) | (rm & 7)));
        return;
      default:
        switch (pick(4)) {
          case 0:
            code.insert(code.end(), {0x48, 0x98});  // cdqe
            return;
          case 1:
            code.insert(code.end(), {0x48, 0x99});  // cqo
            return;
          case 2:  // bswap
            rex(code, wide, 0, rm, false);
            code.push_back(0x0f);
            code.push_back(static_cast<uint8_t>(0xc8 | (rm & 7)));
            return;
          default:  // lea
            rex(code, true, reg, 0, true);
            code.push_back(0x8d);
            return operands(code, reg, 0, true);
        }
    }
  }

  void vector(Code& code) {
    const VectorKind& kind = kVectors[pick(sizeof kVectors / sizeof *kVectors)];
    const bool memory = !kind.only_registers && pick(3) == 0;
    const bool general_operand =
        kind.opcode == 0x6e || (kind.opcode == 0x7e && kind.prefix == 0x66) || kind.opcode == 0x2a;
    const int reg = kind.to_general ? a_register() : static_cast<int>(pick(16));
    const int rm = general_operand ? a_register() : static_cast<int>(pick(16));
    if (kind.prefix) code.push_back(kind.prefix);
    rex(code, pick(2) != 0 && (general_operand || kind.to_general), reg, rm, memory);
    code.push_back(0x0f);
    code.push_back(kind.opcode);
    operands(code, reg, rm, memory);
    if (kind.immediate) code.push_back(static_cast<uint8_t>(random_()));
  }

  // Three operands: scalars and whole vectors of 16 bytes.
  void vex(Code& code) {
    if (!__builtin_cpu_supports("avx")) return general(code);
    static constexpr uint8_t kScalar[] = {0x58, 0x59, 0x5c, 0x5d, 0x51, 0x5a, 0x10},
                             kWhole[] = {0x58, 0x14, 0x54, 0x57};
    const int reg = static_cast<int>(pick(8)), first = static_cast<int>(pick(8)),
              rm = static_cast<int>(pick(8));
    const uint32_t prefix = pick(4);
    const uint8_t opcode = prefix >= 2 ? one_of(kScalar) : one_of(kWhole);
    const bool memory = opcode != 0x10 && pick(3) == 0;
    code.push_back(0xc5);
    code.push_back(static_cast<uint8_t>(0x80 | (~first & 15) << 3 | prefix));
    code.push_back(opcode);
    operands(code, reg, rm, memory);
  }

  std::mt19937_64 random_;
};

// What differs, and is not said to.
std::string missed(const State& one, const State& other, const Taint& taint) {
  std::string text;
  auto miss = [&text](const char* what, int number, int byte) {
    text += std::string(" ") + what + std::to_string(number) + "[" + std::to_string(byte) + "]";
  };
  for (int i = 0; i < 16; ++i)
    for (int byte = 0; byte < 8; ++byte)
      if ((one.general[i] ^ other.general[i]) >> 8 * byte & 0xff && !(taint.general[i] >> byte & 1))
        miss("r", i, byte);
  for (int i = 0; i < 16; ++i)
    for (int byte = 0; byte < 16; ++byte)
      if (one.vector[i][byte] != other.vector[i][byte] && !(taint.vector[i] >> byte & 1))
        miss("xmm", i, byte);
  if ((one.flags ^ other.flags) & ~taint.flags) miss("flags", static_cast<int>(one.flags ^ other.flags), 0);
  auto memory = [&](const char* what, const uint8_t* first, const uint8_t* second, const uint8_t* at) {
    for (uint32_t byte = 0; byte < kData; ++byte)
      if (first[byte] != second[byte] && !taint.memory.mask(reinterpret_cast<uintptr_t>(at) + byte, 1))
        miss(what, 0, static_cast<int>(byte));
  };
  memory("data", one.data, other.data, machine.data);
  memory("stack", one.stack, other.stack, machine.stack);
  return text;
}

std::string text_of(const Code& code) {
  std::string text;
  char byte[4];
  for (uint8_t one : code) {
    snprintf(byte, sizeof byte, "%02x ", one);
    text += byte;
  }
  return text;
}

TEST_F(Transfer, WhatDependsOnTheValueIsSaidToHoldIt) {
  uint64_t dependent = 0;
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    Generator generator(seed);
    const Code code = generator.code(1 + static_cast<int>(seed % 12));
    State first = generator.state();
    State second = first;
    const uint64_t other = generator.number();
    memcpy(second.data + kValueAt, &other, sizeof other);
    Taint taint;
    taint.memory.add(AddressRange::of(reinterpret_cast<uintptr_t>(machine.data) + kValueAt, 8));
    const State one = run(code, first, &taint, ~uint64_t{0});
    if (machine.consequence) continue;
    const uint64_t steps = machine.steps;
    const State two = run(code, second, nullptr, steps);
    const std::string wrong = missed(one, two, taint);
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << text_of(code);
    dependent += memcmp(&one.general, &two.general, sizeof one.general) != 0 ||
                 memcmp(&one.vector, &two.vector, sizeof one.vector) != 0;
  }
  EXPECT_GT(dependent, 1000u);  // the test sees something
}

// Moves take exactly the bytes that they take.
TEST_F(Transfer, MovesTakeTheirBytes) {
  struct {
    Code code;
    int vector;     // register; -1: rax
    uint64_t bits;  // that hold the value
  } const moves[] = {
      {{0xf3, 0x0f, 0x10, 0x47, 0x20}, 0, 0x0f},                 // movss 32(%rdi), %xmm0
      {{0xf2, 0x0f, 0x10, 0x47, 0x20}, 0, 0xff},                 // movsd
      {{0x0f, 0x10, 0x47, 0x18}, 0, 0xff00},                     // movups 24(%rdi), %xmm0
      {{0x48, 0x8b, 0x47, 0x1c}, -1, 0xf0},                      // mov 28(%rdi), %rax
      {{0x0f, 0xb6, 0x47, 0x27}, -1, 0x01},                      // movzbl 39(%rdi), %eax
      {{0x8b, 0x47, 0x24}, -1, 0x0f},                            // mov 36(%rdi), %eax
      {{0xf3, 0x0f, 0x5a, 0x47, 0x20}, 0, 0xff},                 // cvtss2sd 32(%rdi), %xmm0
      {{0x8b, 0x47, 0x24, 0x31, 0xc0}, -1, 0},                   // ... xor %eax, %eax
      {{0xf3, 0x0f, 0x10, 0x47, 0x20, 0x0f, 0x57, 0xc0}, 0, 0},  // ... xorps %xmm0, %xmm0
  };
  for (const auto& move : moves) {
    Generator generator(7);
    Taint taint;
    taint.memory.add(AddressRange::of(reinterpret_cast<uintptr_t>(machine.data) + kValueAt, 8));
    run(move.code, generator.state(), &taint, ~uint64_t{0});
    EXPECT_EQ(move.vector < 0 ? taint.general[0] : taint.vector[0], move.bits) << text_of(move.code);
  }
}

}  // namespace
}  // namespace diogenes::values
