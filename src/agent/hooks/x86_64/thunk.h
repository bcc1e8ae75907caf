// The call-through thunk: one real frame, with CFI, between a caller and a hooked driver function.
//
// A hooked entry jumps to a stub near the driver, which loads r11 with its Hook and jumps to diogenes_thunk
// (thunk.S). The thunk saves the argument registers, vector ones included, asks on_enter(), and then either
// jumps on as if nothing had been there (0), or copies the stack arguments, calls the moved function, and
// hands the result to on_exit() (1), which may have the call made again.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/core/calls/call.h"
#include "ffm/control_page.h"

namespace diogenes::agent {

struct Hook {
  const void* original;  // the moved first instructions, which jump on into the function. thunk.S reads it at
                         // offset 0
  uint16_t function;     // catalogue index, kWaitFunction, kQueueWaitFunction
  bool always = false;   // on_enter is asked whatever the gate says. thunk.S reads it at offset 10
  CallCount* calls = nullptr;  // thunk.S counts there; null: it does not
};
static_assert(offsetof(Hook, function) == 8 && offsetof(Hook, always) == 10 && offsetof(Hook, calls) == 16);

// Built by thunk.S on the caller's stack. Offsets are known there.
struct alignas(16) ThunkFrame {
  uint64_t integer[6];        // 0: rdi rsi rdx rcx r8 r9
  uint64_t rax;               // 48: at entry
  uint64_t result;            // 56: rax at exit
  const Hook* hook;           // 64
  uint64_t* caller;           // 72: the return address, then the stack arguments
  uint64_t r10;               // 80
  uint64_t second;            // 88: rdx at exit
  uint8_t vector[8][16];      // 96: xmm0 to xmm7 at entry
  uint8_t vector_result[16];  // 224: xmm0 at exit
  uint64_t how;               // 240: what on_enter answered
  // The rest belongs to C++.
  int64_t entered_ns;
  Call call;
};
static_assert(offsetof(ThunkFrame, rax) == 48 && offsetof(ThunkFrame, result) == 56 &&
              offsetof(ThunkFrame, hook) == 64 && offsetof(ThunkFrame, caller) == 72 &&
              offsetof(ThunkFrame, r10) == 80 && offsetof(ThunkFrame, second) == 88 &&
              offsetof(ThunkFrame, vector) == 96 && offsetof(ThunkFrame, vector_result) == 224 &&
              offsetof(ThunkFrame, how) == 240);
static_assert(sizeof(ThunkFrame) <= 464, "thunk.S reserves 464 bytes");

extern "C" void diogenes_thunk();
extern "C" char diogenes_thunk_end[];
// Where it points to 0, calls go straight on, some nanoseconds slower than without a hook. At first it points to itself.
extern "C" std::atomic<const void*> diogenes_gate;
// 0: the call is passed on, and there will be no exit; 1: made here, with all stack words that it may have;
// 2: with those of the return address's page, since the next one is not there; 3: the call is not made, and returns what
// the frame has as `result`.
extern "C" int diogenes_on_enter(ThunkFrame* frame);
// True: the call is made once more, as it was, and on_exit comes again.
extern "C" bool diogenes_on_exit(ThunkFrame* frame);

}  // namespace diogenes::agent
