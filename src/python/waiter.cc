#include "python/waiter.h"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>

#include "python/code_file.h"

namespace diogenes::python {

namespace {

constexpr int kMostThreads = 32;                                          // of the engine; one a device
constexpr size_t kLargestSpan = 16 << 10, kMostRead = 16 + kLargestSpan;  // of a chain, in bytes
constexpr int kMostAsked = 16;

std::atomic<uintptr_t> main_state{0};
std::atomic<int> used_slots{0};

// What the thread read last. While its bytes are the same, so are the frames.
struct Slot {
  PythonReading reading;
  uintptr_t state = 0;  // whose; 0: nothing was read
  int pieces = 0;  // of memory: what leads to the first frame, and one that holds all frames, or one for each
  iovec piece[2 + kMaximumFrames];
  size_t bytes = 0;              // of all pieces
  size_t first = 0;              // where the first frame's address lies in what is read of them
  size_t frame[kMaximumFrames];  // where each frame lies
  alignas(8) uint8_t then[kMostRead], now[kMostRead];
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

// Which memory all frames lie in, and what leads there.
void find_pieces(uintptr_t state, const Layout& at, Slot& slot) {
  const auto& entry = slot.reading.entries;
  slot.pieces = 0, slot.bytes = 0;
  const auto add = [&slot](uintptr_t from, size_t bytes) {
    slot.piece[slot.pieces++] = {reinterpret_cast<void*>(from), bytes};
    return (slot.bytes += bytes) - bytes;
  };
  uintptr_t begin = UINTPTR_MAX, end = 0, outer = state + at.frame;
  for (int i = 0; i < slot.reading.count; ++i) {
    begin = std::min<uintptr_t>(begin, entry[i].frame);
    end = std::max<uintptr_t>(end, entry[i].frame + at.frame_bytes);
  }
  slot.first = add(outer, sizeof outer);
  if (at.chain == Layout::Chain::by_cframe && ThroughKernel::copy(outer, sizeof outer, &outer))
    slot.first = add(outer + at.cframe_frame, sizeof outer);
  const size_t all = end - begin <= kLargestSpan ? add(begin, end - begin) : 0;
  for (int i = 0; i < slot.reading.count; ++i)
    slot.frame[i] = all ? all + entry[i].frame - begin : add(entry[i].frame, at.frame_bytes);
}
static_assert(kMaximumFrames * kLargestView / 2 <= kLargestSpan);  // a frame has at most half a view's bytes

// Of each frame what a chain is made of; its values may change.
bool same_frames(const Layout& at, const Slot& slot) {
  const size_t instruction_bytes = at.instructions ? sizeof(uintptr_t) : sizeof(int32_t);
  if (memcmp(slot.then, slot.now, slot.first + sizeof(uintptr_t)) != 0) return false;
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
  if (slot->state == state && read_pieces(*slot, slot->now) && same_frames(interpreter.layout, *slot))
    return &slot->reading;
  slot->state = 0;
  const ChainReader<ThroughKernel> reader(interpreter);
  if (!reader.read(state, slot->reading) || slot->reading.count == 0 ||
      !starts_engine(interpreter, slot->reading.entries[0].code))
    return nullptr;
  // Once more: what was read in between was one chain.
  const uint64_t hash = slot->reading.hash;
  find_pieces(state, interpreter.layout, *slot);
  const bool leads = read_pieces(*slot, slot->then) &&
                     memcmp(slot->then + slot->first, &slot->reading.entries[0].frame, sizeof state) == 0;
  if (!reader.read(state, slot->reading) || slot->reading.hash != hash) return nullptr;
  if (leads) slot->state = state;
  return &slot->reading;
}

}  // namespace diogenes::python
