#include "python/waiter.h"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>

#include "python/code_file.h"

namespace diogenes::python {

namespace {

constexpr int kMostThreads = 32;           // of the engine; one a device
constexpr size_t kLargestSpan = 16 << 10;  // of a chain, in bytes
constexpr int kMostAsked = 16;

std::atomic<uintptr_t> main_state{0};
std::atomic<int> used_slots{0};

// What the thread read last. While its bytes are the same, so are the frames.
struct Slot {
  PythonReading reading;
  uintptr_t state = 0;
  int pieces = 0;  // of memory: one that holds all frames, or one for each; 0: nothing was read
  iovec piece[kMaximumFrames];
  size_t bytes = 0;              // of all pieces
  size_t frame[kMaximumFrames];  // where each frame lies in what is read of them
  alignas(8) uint8_t then[kLargestSpan], now[kLargestSpan];
};
Slot slots[kMostThreads];

struct Worker {
  int32_t slot;  // 1 + its number; 0: not asked yet, -1: it is none of the engine's
  int32_t asked;
};
thread_local Worker worker __attribute__((tls_model("initial-exec"))) = {0, 0};

Slot* slot_here() {
  if (worker.slot > 0) return &slots[worker.slot - 1];
  if (worker.slot < 0) return nullptr;
  char name[16] = {};
  constexpr char kName[] = "pt_autograd_";
  prctl(PR_GET_NAME, name);
  if (memcmp(name, kName, sizeof kName - 1) != 0) {
    // A thread gets its name after it has begun.
    if (++worker.asked == kMostAsked) worker.slot = -1;
    return nullptr;
  }
  const int number = used_slots.fetch_add(1, std::memory_order_relaxed);
  worker.slot = number < kMostThreads ? number + 1 : -1;
  return number < kMostThreads ? &slots[number] : nullptr;
}

bool ends_with(const char* text, uint32_t bytes, const char* end) {
  const size_t length = strlen(end);
  return bytes >= length && memcmp(text + bytes - length, end, length) == 0;
}

// Is this the function that calls the engine, and waits in that call?
bool starts_engine(const Interpreter& interpreter, uintptr_t code) {
  char file[512], name[64];
  const uint32_t file_bytes = copy_name(interpreter, code, interpreter.layout.file, file, sizeof file);
  const uint32_t name_bytes = copy_name(interpreter, code, interpreter.layout.name, name, sizeof name);
  if (ends_with(file, file_bytes, "torch/autograd/graph.py"))
    return name_bytes == 20 && ends_with(name, name_bytes, "_engine_run_backward");
  return ends_with(file, file_bytes, "torch/autograd/__init__.py") &&
         ((name_bytes == 8 && ends_with(name, name_bytes, "backward")) ||
          (name_bytes == 4 && ends_with(name, name_bytes, "grad")));
}

bool read_pieces(const Slot& slot, uint8_t* to) {
  const int kept = errno;
  const iovec here{to, slot.bytes};
  const bool read = syscall(SYS_process_vm_readv, getpid(), &here, 1, slot.piece, slot.pieces, 0) ==
                    static_cast<long>(slot.bytes);
  errno = kept;
  return read;
}

// Which memory all frames lie in.
void find_pieces(size_t frame_bytes, Slot& slot) {
  const PythonReading& reading = slot.reading;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < reading.count; ++i) {
    begin = std::min<uintptr_t>(begin, reading.entries[i].frame);
    end = std::max<uintptr_t>(end, reading.entries[i].frame + frame_bytes);
  }
  const bool near = end - begin <= kLargestSpan;
  slot.pieces = near ? 1 : reading.count;
  slot.bytes = near ? end - begin : frame_bytes * static_cast<size_t>(reading.count);
  if (near) slot.piece[0] = {reinterpret_cast<void*>(begin), slot.bytes};
  for (int i = 0; i < reading.count; ++i) {
    const uintptr_t frame = reading.entries[i].frame;
    slot.frame[i] = near ? frame - begin : frame_bytes * static_cast<size_t>(i);
    if (!near) slot.piece[i] = {reinterpret_cast<void*>(frame), frame_bytes};
  }
}
static_assert(kMaximumFrames * kLargestView / 2 <= kLargestSpan);  // a frame has at most half a view's bytes

// Of each frame what a chain is made of; its values may change.
bool same_frames(const Layout& at, const Slot& slot) {
  const size_t instruction_bytes = at.instructions ? sizeof(uintptr_t) : sizeof(int32_t);
  for (int i = 0; i < slot.reading.count; ++i) {
    const uint8_t *then = slot.then + slot.frame[i], *now = slot.now + slot.frame[i];
    if (memcmp(then + at.code, now + at.code, sizeof(uintptr_t)) != 0 ||
        memcmp(then + at.previous, now + at.previous, sizeof(uintptr_t)) != 0 ||
        memcmp(then + at.instruction, now + at.instruction, instruction_bytes) != 0)
      return false;
  }
  return true;
}

}  // namespace

void note_state(uintptr_t state) {
  if (getpid() == static_cast<pid_t>(syscall(SYS_gettid))) main_state.store(state, std::memory_order_relaxed);
}

const PythonReading* frames_of_waiter(const Interpreter& interpreter) {
  const uintptr_t state = main_state.load(std::memory_order_relaxed);
  Slot* slot = state ? slot_here() : nullptr;
  if (!slot) return nullptr;
  const ChainReader<ThroughKernel> reader(interpreter);
  uintptr_t first = 0;
  if (!reader.first_frame(state, first)) return nullptr;
  if (slot->pieces > 0 && slot->state == state && first == slot->reading.entries[0].frame &&
      read_pieces(*slot, slot->now) && same_frames(interpreter.layout, *slot))
    return &slot->reading;
  slot->pieces = 0;
  if (!reader.read(state, slot->reading) || slot->reading.count == 0 ||
      !starts_engine(interpreter, slot->reading.entries[0].code))
    return nullptr;
  find_pieces(interpreter.layout.frame_bytes, *slot);
  // Once more: what was read in between was one chain.
  const uint64_t hash = slot->reading.hash;
  if (!read_pieces(*slot, slot->then) || !reader.read(state, slot->reading) || slot->reading.hash != hash) {
    slot->pieces = 0;
    return nullptr;
  }
  slot->state = state;
  return &slot->reading;
}

}  // namespace diogenes::python
