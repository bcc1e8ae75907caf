// Where CPython keeps what a stack is made of: offsets for each version, in bytes. Sources: CPython's headers
// of 3.8 to 3.12 (layout_test.sh compares them); from 3.13 on the table of
// offsets that the interpreter itself carries at the begin of _PyRuntime (_Py_DebugOffsets).
#pragma once
#include <cstdint>

namespace diogenes::python {

struct Layout {
  enum class Chain : uint8_t {
    objects,    // 3.8 to 3.10: thread state -> frame object -> f_back; each has an evaluator of its own
    by_cframe,  // 3.11, 3.12: thread state -> the evaluator's structure -> frame -> previous
    direct      // from 3.13 on: thread state -> frame -> previous
  };
  uint16_t version = 0;  // 0x030b
  Chain chain = Chain::direct;

  // _PyRuntimeState
  uint16_t finalizing = 0, interpreters = 0;
  // From 3.15 on, else 0: PyInterpreterState, and how PyThreadState is listed there (thread_list.h).
  uint16_t next_interpreter = 0, threads = 0;
  uint16_t previous_thread = 0, next_thread = 0, its_interpreter = 0;
  // PyThreadState. `frame`: of the pointer that the chain begins with.
  uint16_t thread_id = 0, frame = 0;
  uint16_t cframe_frame = 0;  // in the evaluator's structure

  // A frame. `instruction`: 3.8 to 3.10: an int, the offset of the instruction; later: a pointer to it.
  uint16_t previous = 0, code = 0, instruction = 0;
  uint16_t is_entry = 0;           // 3.11: a bool; else 0
  uint16_t owner = 0;              // from 3.11 on: a char; a frame with kNotPython or more holds no Python
  uint16_t frame_bytes = 0;        // enough for all of these
  bool instruction_bytes = false;  // 3.8, 3.9: counted in bytes, not in units of two
  uint16_t thread_code = 0;        // free-threaded: index of the thread's own copy of the bytecode; else 0

  // PyCodeObject
  uint16_t type = 0, units = 0;  // ob_type; ob_size: of the bytecode from 3.11 on
  uint16_t file = 0, name = 0, lines = 0, first_line = 0;
  uint16_t instructions = 0;  // from 3.11 on: where the bytecode begins
  uint16_t thread_codes = 0;  // free-threaded: pointer to the threads' copies
  uint16_t code_bytes = 0;

  // PyASCIIObject and PyCompactUnicodeObject: text lies behind them. As 3.8 to 3.11 have them, and bytes up to 3.12.
  uint16_t text_length = 16, text_state = 32, ascii_bytes = 48, compact_bytes = 72;
  uint8_t kind_shift = 2;  // in the state: three bits of kind, then compact, then ascii
  // PyBytesObject
  uint16_t bytes_length = 16, bytes_data = 32;

  bool known() const { return version != 0; }
};

inline constexpr uint8_t kNotPython = 3;  // FRAME_OWNED_BY_CSTACK, ..._INTERPRETER: between two evaluators

// 3.8 to 3.12, from the tables. Not known: another version.
Layout layout_from_table(uint32_t version);

// 3.13 to 3.15. `offsets`: what lies at _PyRuntime, 8-byte words. Not known: it is no such table, or one
// that contradicts itself.
inline constexpr int kDebugOffsetWords = 96;
Layout layout_from_debug_offsets(const uint64_t (&offsets)[kDebugOffsetWords]);

}  // namespace diogenes::python
