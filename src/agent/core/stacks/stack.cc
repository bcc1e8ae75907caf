#include "agent/core/stacks/stack.h"

#include <unwind.h>

#include <atomic>
#include <cstring>

#include "agent/core/recording/recorder.h"
#include "agent/core/stacks/python_frames.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/core/thread_state.h"
#include "agent/core/unwind/known_walks.h"

// Of this library, by the linker.
extern "C" {
extern __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern __attribute__((visibility("hidden"))) const char etext[];
}

namespace diogenes::agent {

namespace {

// What a walk takes, 7 KiB: kept off the program's stack, which may be small.
struct Scratch {
  Frames own, found;
  WordsRead words;
  std::atomic<bool> taken{false};
};
constinit Scratch scratches[16];

Scratch* take_scratch() {
  for (Scratch& scratch : scratches) {
    if (scratch.taken.exchange(true, std::memory_order_acquire)) continue;  // pairs with capture()
    scratch.own.count = scratch.found.count = scratch.words.count = 0;
    scratch.words.rbp = false;
    scratch.own.cut = scratch.found.cut = false;
    return &scratch;
  }
  return nullptr;
}

// libgcc's walk, which begins in here: frames before the one that is asked for are left out.
struct LibgccWalk {
  const Registers& from;
  Frames& found;
  bool begun = false;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* opaque) {
  auto& walk = *static_cast<LibgccWalk*>(opaque);
  int exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  if (address == 0) return _URC_END_OF_STACK;
  if (!walk.begun) {
    walk.begun = walk.from.exact ? address == walk.from.address : _Unwind_GetCFA(context) >= walk.from.rsp;
    if (!walk.begun) return _URC_NO_REASON;
    if (walk.from.exact) exact = 1;
  }
  Frames& found = walk.found;
  if (found.count == kMaximumFrames) {
    found.cut = true;
    return _URC_END_OF_STACK;
  }
  found.addresses[found.count++] = exact ? address : address - 1;
  return _URC_NO_REASON;
}

// What is recorded of a walk: without the agent's own frames. The first address is taken `back` bytes
// earlier.
void strip(Frames& frames, uint32_t back) {
  int kept = 0;
  for (int i = 0; i < frames.count; ++i)
    if (!in_agent(frames.addresses[i])) frames.addresses[kept++] = frames.addresses[i];
  frames.count = kept;
  if (kept > 0) frames.addresses[0] -= back;
}

void count(uint32_t ProcessFile::*what) {
  if (ProcessFile* process = process_file()) __atomic_fetch_add(&(process->*what), 1, __ATOMIC_RELAXED);
}

// Our own walk finds stacks that are known; a new one is taken from libgcc, which knows more kinds of frames.
// So no stack is recorded that libgcc did not walk once.
uint32_t walk_anew(const Registers& from, uint32_t back, bool in_signal, Scratch& scratch) {
  Frames& own = scratch.own;
  WordsRead& words = scratch.words;
  Walked walked = Walked::gave_up;
  if (DIOGENES_OWN_WALK) {
    walked = walk_frames(from, own, words);
    strip(own, back);
    if (walked == Walked::whole)
      if (uint32_t known = known_stack(own.addresses, own.count); known != kNoStack) {
        keep_walk(from, words, known);
        return known;
      }
    // libgcc would follow it, and crash the program.
    if (walked == Walked::astray && own.count > 0)
      return intern_stack(own.addresses, own.count, true, in_signal);
  }
  LibgccWalk walk{from, scratch.found};
  _Unwind_Backtrace(visit, &walk);
  Frames& found = walk.found;
  if (found.count == 0 && from.exact) found.addresses[found.count++] = from.address;
  strip(found, back);
  if (found.count == 0) return kNoStack;
  count(&ProcessFile::libgcc_walks);
  if (walked == Walked::gave_up)
    count(&ProcessFile::own_walks_given_up);
  else if (found.count != own.count ||
           memcmp(found.addresses, own.addresses, static_cast<size_t>(own.count) * sizeof(uintptr_t)) != 0)
    count(&ProcessFile::own_walks_differing);
  return intern_stack(found.addresses, found.count, found.cut, in_signal);
}

// All are taken: 16 threads walk at once, or a forked child has those of threads that it does not have.
[[gnu::noinline]] uint32_t walk_on_own_stack(const Registers& from, uint32_t back, bool in_signal) {
  Scratch scratch;
  return walk_anew(from, back, in_signal, scratch);
}

uint32_t capture(const Registers& from, uint32_t back, bool in_signal) {
  if (DIOGENES_OWN_WALK && !from.exact)
    if (uint32_t known = find_known_walk(from); known != kNoStack) return known;
  Scratch* scratch = take_scratch();
  if (!scratch) return walk_on_own_stack(from, back, in_signal);
  const uint32_t stack = walk_anew(from, back, in_signal, *scratch);
  scratch->taken.store(false, std::memory_order_release);
  return stack;
}

// Of the hooked call under way. Below its frame, the thunk has kept the caller's rbp (x86_64/thunk.S).
Registers caller_registers() {
  const auto* frame = reinterpret_cast<const uintptr_t*>(thread_state.call_frame);
  return {.address = frame[-1], .rsp = thread_state.call_frame, .rbp = frame[-2], .exact = false, .place = 0};
}

}  // namespace

// It lies between a host function and the driver that runs it (host_functions.cc).
bool in_agent(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__ehdr_start) && address < reinterpret_cast<uintptr_t>(etext);
}

uint32_t capture_stack() { return with_python_frames(capture(caller_registers(), 0, false), false); }

uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back) {
  const auto at = [context](int index) { return static_cast<uintptr_t>(context->uc_mcontext.gregs[index]); };
  const Registers from{
      .address = at(REG_RIP), .rsp = at(REG_RSP), .rbp = at(REG_RBP), .exact = true, .place = 0};
  return with_python_frames(capture(from, back, true), true);
}

FrameMarks frame_marks(uintptr_t address) {
  FrameMarks marks;
  if (thread_state.call_frame == 0 || address < thread_state.call_frame) return marks;
  Frames walk;
  WordsRead words;
  walk_frames(caller_registers(), walk, words);  // as far as it goes
  // A frame ends behind the return address into its caller.
  int caller = 1;
  while (caller < walk.count && walk.places[caller] + sizeof(uintptr_t) <= address) ++caller;
  for (; caller < walk.count && marks.count < kFrameMarks; ++caller, ++marks.count) {
    marks.places[marks.count] = walk.places[caller];
    marks.addresses[marks.count] = *reinterpret_cast<const uintptr_t*>(walk.places[caller]);
  }
  return marks;
}

}  // namespace diogenes::agent
