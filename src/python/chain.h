// The frames of a thread, from its thread state outwards, and what tells one code object from another. In:
// memory of CPython's, laid out as a Layout says. Out: PythonReading.
#pragma once
#include <initializer_list>

#include "python/layout.h"
#include "python/memory.h"
#include "trace/python_records.h"

namespace diogenes::python {

// Frames as they were read, innermost first.
struct PythonReading {
  struct Entry {
    uintptr_t frame, code;  // addresses
    uint64_t fingerprint;   // of its content
    uint32_t instruction;   // as PythonFrame has it
    bool entry;             // likewise
  };
  uint64_t hash = 0;  // of all of it
  int count = 0;
  bool cut = false;  // outer ones are missing
  Entry entries[kMaximumFrames];
};

// What a chain is checked against.
struct Interpreter {
  Layout layout;
  uintptr_t runtime = 0;    // _PyRuntime
  uintptr_t code_type = 0;  // PyCode_Type: every code object's type
};

// In place of a pointer where 3.14 and later keep one with marks in its lowest bits.
inline uintptr_t unmarked(uintptr_t reference) { return reference & ~uintptr_t{7}; }

inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

template <typename Memory>
class ChainReader {
 public:
  explicit ChainReader(const Interpreter& interpreter) : interpreter_(interpreter), at_(interpreter.layout) {}

  // False: the memory is not there, or is not what it should be. A chain without frames is read, too.
  bool read(uintptr_t thread_state, PythonReading& to) const {
    to.count = 0;
    to.hash = 0;
    to.cut = false;
    uintptr_t frame = 0;
    if (!first_frame(thread_state, frame)) return false;
    View view;
    for (int frames = 0; frame != 0; ++frames) {
      if (frame % 8 != 0 || frames == kMostLinks || !Memory::look(frame, at_.frame_bytes, view)) return false;
      const auto previous = view.template get<uintptr_t>(at_.previous);
      if (at_.owner && view.template get<uint8_t>(at_.owner) >= kNotPython) {
        if (to.count > 0) to.entries[to.count - 1].entry = true;
      } else if (to.count == kMaximumFrames) {
        to.cut = true;
        break;
      } else if (!add(frame, view, to)) {
        return false;
      }
      frame = previous;
    }
    if (to.count == 0) return true;
    if (!to.cut) to.entries[to.count - 1].entry = true;
    uint64_t hash = static_cast<uint64_t>(to.count);
    for (int i = 0; i < to.count; ++i) {
      const PythonReading::Entry& entry = to.entries[i];
      const uint64_t where = uint64_t{entry.instruction} << 1 | entry.entry;
      hash += (entry.fingerprint ^ where * 0x9e3779b97f4a7c15) *
              (0xd6e8feb86659fd93 + 0xbf58476d1ce4e5ba * static_cast<uint64_t>(i));
    }
    to.hash = mixed(hash, 0);
    return true;
  }

 private:
  static constexpr int kMostLinks = 4 * kMaximumFrames;  // with those that are not Python's

  // Where the chain begins; 0: it is empty.
  bool first_frame(uintptr_t thread_state, uintptr_t& frame) const {
    if (thread_state % 8 != 0 || !Memory::copy(thread_state + at_.frame, sizeof frame, &frame)) return false;
    if (at_.chain != Layout::Chain::by_cframe || frame == 0) return true;
    return frame % 8 == 0 && Memory::copy(frame + at_.cframe_frame, sizeof frame, &frame);
  }

  bool add(uintptr_t at, const View& frame, PythonReading& to) const {
    PythonReading::Entry& entry = to.entries[to.count];
    entry.frame = at;
    entry.code = unmarked(frame.template get<uintptr_t>(at_.code));
    View code;
    if (entry.code == 0 || !Memory::look(entry.code, at_.code_bytes, code)) return false;
    if (code.template get<uintptr_t>(at_.type) != interpreter_.code_type) return false;
    if (!fingerprint(entry.code, code, entry.fingerprint)) return false;
    entry.instruction = instruction(frame, entry.code, code);
    entry.entry =
        at_.chain == Layout::Chain::objects || (at_.is_entry && frame.template get<uint8_t>(at_.is_entry));
    ++to.count;
    return true;
  }

  uint32_t instruction(const View& frame, uintptr_t code, const View& view) const {
    if (at_.instructions == 0) {
      const auto offset = frame.template get<int32_t>(at_.instruction);
      return static_cast<uint32_t>(offset < 0 ? 0 : at_.instruction_bytes ? offset / 2 : offset);
    }
    const auto pointer = frame.template get<uintptr_t>(at_.instruction);
    const uint64_t units = view.template get<uint64_t>(at_.units);
    uintptr_t begin = code + at_.instructions;
    // Before the first one: the frame is about to begin.
    if (pointer + 2 == begin) return 0;
    if ((pointer < begin || (pointer - begin) / 2 >= units) && at_.thread_code) {
      // The thread has a copy of the bytecode: { int64 size; char* copies[size] }.
      const auto index = frame.template get<int32_t>(at_.thread_code);
      const auto copies = view.template get<uintptr_t>(at_.thread_codes);
      if (index < 0 || copies == 0 ||
          !Memory::copy(copies + 8 + 8 * static_cast<uintptr_t>(index), sizeof begin, &begin))
        return PythonFrame::kNoInstruction;
    }
    if (pointer < begin || (pointer - begin) / 2 >= units) return PythonFrame::kNoInstruction;
    return static_cast<uint32_t>((pointer - begin) / 2);
  }

  // Another code object may come to lie where one was, with its parts where theirs were: so some of the
  // content counts, too. A sum of products, which the processor need not do one after the other.
  bool fingerprint(uintptr_t code, const View& view, uint64_t& sum) const {
    const auto file = view.template get<uintptr_t>(at_.file), name = view.template get<uintptr_t>(at_.name);
    const auto lines = view.template get<uintptr_t>(at_.lines);
    const uint64_t first_line = view.template get<uint32_t>(at_.first_line);
    uint64_t file_end = 0, name_end = 0, lines_end = 0;
    if (!text_end(file, file_end) || !text_end(name, name_end) || !sample_of(lines, lines_end)) return false;
    sum = code * 0x9e3779b97f4a7c15 + file * 0xbf58476d1ce4e5b9 + name * 0x94d049bb133111eb +
          (lines ^ first_line << 40) * 0xd6e8feb86659fd93 + file_end * 0xa0761d6478bd642f +
          name_end * 0xe7037ed1a0b428db + lines_end * 0x8ebc6af09c88c6e3;
    sum ^= sum >> 32;
    return true;
  }
  bool text_end(uintptr_t text, uint64_t& end) const {
    View view;
    if (text % 8 != 0 || !Memory::look(text, at_.ascii_bytes, view)) return false;
    const auto state = view.template get<uint32_t>(at_.text_state) >> at_.kind_shift;
    if (!(state & 8)) return false;  // not compact: its text lies elsewhere, and it is no plain str
    const bool ascii = (state & 16) != 0;
    return end_of(text, at_.text_length, ascii ? at_.ascii_bytes : at_.compact_bytes, (state & 4) ? 1 : 0,
                  end);
  }
  // Of a line table: the length, and bytes of its begin, middle and end.
  bool sample_of(uintptr_t lines, uint64_t& sample) const {
    uint64_t length = 0, part = 0;
    if (!end_of(lines, at_.bytes_length, at_.bytes_data, 0, sample)) return false;
    Memory::copy(lines + at_.bytes_length, sizeof length, &length);
    for (const uint64_t from : {uint64_t{0}, length / 2 - length / 2 % 8}) {
      if (length < 8 || from + 8 > length) break;
      if (!Memory::copy(lines + at_.bytes_data + from, sizeof part, &part)) return false;
      sample = mixed(sample, part);
    }
    return true;
  }
  // The length, and the last bytes of the data.
  bool end_of(uintptr_t object, unsigned length_at, unsigned data_at, int wide, uint64_t& end) const {
    uint64_t length = 0, last = 0;
    if (object == 0 || object % 8 != 0 || !Memory::copy(object + length_at, sizeof length, &length))
      return false;
    if (length > kLongest) return false;
    const uint64_t bytes = wide ? length * 4 : length;
    // A shorter one is followed by its end and by what the allocation was rounded up to.
    const uint64_t before = bytes < 8 ? 0 : bytes - 8;
    if (!Memory::copy(object + data_at + before, sizeof last, &last)) return false;
    if (bytes < 8) last &= (uint64_t{1} << 8 * bytes) - 1;
    end = last ^ length << 48;
    return true;
  }
  static constexpr uint64_t kLongest = 16 << 20;  // what is longer is no length

  const Interpreter& interpreter_;
  const Layout& at_;
};

}  // namespace diogenes::python
