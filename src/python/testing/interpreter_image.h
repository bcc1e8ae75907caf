// Test support: the memory of an interpreter, built by hand for one Layout: thread state, frames, code
// objects, their names and line tables.
#pragma once
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "python/chain.h"

namespace diogenes::python::testing {

// As the headers of CPython 3.13 to 3.15 have them on x86-64. Free-threaded builds have larger objects.
inline void debug_offsets(uint32_t version, bool free_threaded, uint64_t (&offsets)[kDebugOffsetWords]) {
  memset(offsets, 0, sizeof offsets);
  memcpy(offsets, "xdebugpy", 8);
  offsets[1] = version << 16 | 0x00f0;
  offsets[2] = free_threaded;
  const bool newer = version >= 0x030e;
  const uint64_t head = free_threaded ? 32 : 16;
  std::vector<uint64_t> words = {0, 608, 632};      // runtime: size, finalizing, interpreters
  words.insert(words.end(), {1000, 1000, 40, 48});  // interpreter: next, threads
  for (int i = 4; i < (newer ? 16 : 13); ++i) words.push_back(1000);
  const bool newest = version >= 0x030f;
  words.insert(words.end(), {0, 0, 8, 16, 72});  // thread
  if (newest) words.insert(words.end(), {80, 88, 96});
  words.insert(words.end(), {152, 160, 0, 32});
  if (newest) words.insert(words.end(), {0, 0, 0, 0, 0});  // ... and an exception's
  words.insert(words.end(), {88, 8, 0, 56, 80, free_threaded && newer ? 78u : newer ? 74u : 70u});  // frame
  if (newer) words.insert(words.end(), {64, free_threaded ? 72u : 0u});
  const uint64_t code = head - 16;
  words.insert(words.end(), {0, 112 + code, 120 + code, 128 + code, 136 + code, 68 + code, 52 + code,
                             96 + code, 104 + code, newer && free_threaded ? 216 + code : 200 + code});
  if (newer) words.push_back(free_threaded ? 208 + code : 0);
  words.insert(words.end(), {head, head - 8, 0, 0, 0, 0, 0, 0, 0});  // object, type, tuple
  if (newest) words.insert(words.end(), {0, 0, 0, 0});               // ... type's, heap type
  words.insert(words.end(), {0, 0, 0});                              // list
  if (newer) words.insert(words.end(), {0, 0, 0, 0});                // set
  words.insert(words.end(), {0, 0, 0, 0, 0, 0, 0, 0});               // dict, float, long
  words.insert(words.end(), {0, head, head + 16});                   // bytes
  words.insert(words.end(), {0, head + 16, head, head + 24});        // text
  for (size_t i = 0; i < words.size(); ++i) offsets[3 + i] = words[i];
}

class Image {
 public:
  static constexpr size_t kBytes = 64 << 10;
  explicit Image(const Layout& layout) : at_(layout) {
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    interpreter = {layout, 0, reserve(64)};
    state = reserve(512);
  }
  ~Image() { munmap(memory_, kBytes); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // `width`: bytes a character.
  uintptr_t text(const std::u32string& value, uint32_t width = 1) {
    const bool ascii = width == 1 && value.find_first_of(U"äöü") == std::u32string::npos;
    const unsigned begin = ascii ? at_.ascii_bytes : at_.compact_bytes;
    const uintptr_t object = reserve(begin + (value.size() + 2) * width + 8);
    put(object + at_.text_length, uint64_t{value.size()});
    put(object + at_.text_state, (width | 8u | (ascii ? 16u : 0u)) << at_.kind_shift);
    for (size_t i = 0; i < value.size(); ++i) memcpy(to(object + begin + i * width), &value[i], width);
    return object;
  }
  uintptr_t bytes(const std::string& value) {
    const uintptr_t object = reserve(at_.bytes_data + value.size() + 16);
    put(object + at_.bytes_length, uint64_t{value.size()});
    memcpy(to(object + at_.bytes_data), value.data(), value.size());
    return object;
  }
  // Of 100 instructions.
  uintptr_t code(uintptr_t file, uintptr_t name, uintptr_t lines, int first_line) {
    const uintptr_t object = reserve(512);
    put(object + at_.type, interpreter.code_type);
    if (at_.instructions) put(object + at_.units, uint64_t{100});
    put(object + at_.file, file), put(object + at_.name, name), put(object + at_.lines, lines);
    put(object + at_.first_line, first_line);
    return object;
  }
  // The next frame outwards. `entry`: the interpreter entered its evaluator for it.
  uintptr_t frame(uintptr_t of_code, uint32_t instruction, bool entry) {
    const uintptr_t object = link();
    put(object + at_.code, of_code | (at_.version >= 0x030e ? 1u : 0u));
    if (at_.instructions)
      put(object + at_.instruction, of_code + at_.instructions + 2 * instruction);
    else
      put(object + at_.instruction,
          static_cast<int32_t>(at_.instruction_bytes ? 2 * instruction : instruction));
    if (at_.is_entry) put(object + at_.is_entry, static_cast<uint8_t>(entry));
    if (entry && at_.chain != Layout::Chain::objects && !at_.is_entry)
      put(link() + at_.owner, static_cast<uint8_t>(kNotPython));  // between two evaluators
    return object;
  }
  template <typename T>
  void put(uintptr_t address, T value) {
    memcpy(to(address), &value, sizeof value);
  }
  uintptr_t reserve(size_t bytes) {
    const uintptr_t object = reinterpret_cast<uintptr_t>(memory_) + used_;
    used_ += (bytes + 15) / 16 * 16;
    return object;
  }
  size_t used() const { return used_; }
  uint8_t* memory() { return memory_; }

  Interpreter interpreter;
  uintptr_t state;

 private:
  static void* to(uintptr_t address) { return reinterpret_cast<void*>(address); }
  uintptr_t link() {
    const uintptr_t object = reserve(at_.frame_bytes);
    if (last_ != 0) {
      put(last_ + at_.previous, object);
    } else if (at_.chain == Layout::Chain::by_cframe) {
      const uintptr_t evaluator = reserve(32);
      put(state + at_.frame, evaluator);
      put(evaluator + at_.cframe_frame, object);
    } else {
      put(state + at_.frame, object);
    }
    return last_ = object;
  }

  const Layout at_;
  uint8_t* memory_;
  size_t used_ = 0;
  uintptr_t last_ = 0;
};

}  // namespace diogenes::python::testing
