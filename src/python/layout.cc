#include "python/layout.h"

#include <cstring>
#include <iterator>

namespace diogenes::python {

namespace {

// 3.8, 3.9 and 3.10 differ in two places.
Layout of_frame_objects(uint32_t version) {
  Layout layout;
  layout.version = static_cast<uint16_t>(version);
  layout.chain = Layout::Chain::objects;
  layout.finalizing = 16, layout.interpreters = 32;
  layout.thread_id = 176, layout.frame = 24;
  layout.previous = 24, layout.code = 32, layout.instruction = version == 0x030a ? 96 : 104;
  layout.frame_bytes = 112;
  layout.instruction_bytes = version != 0x030a;
  layout.type = 8, layout.units = 0;
  layout.file = 104, layout.name = 112, layout.lines = 120, layout.first_line = 40;
  layout.code_bytes = 128;
  return layout;
}

Layout of_3_11() {
  Layout layout;
  layout.version = 0x030b;
  layout.chain = Layout::Chain::by_cframe;
  layout.finalizing = 24, layout.interpreters = 40;
  layout.thread_id = 152, layout.frame = 56, layout.cframe_frame = 8;
  layout.previous = 48, layout.code = 32, layout.instruction = 56, layout.is_entry = 68, layout.owner = 69;
  layout.frame_bytes = 72;
  layout.type = 8, layout.units = 16;
  layout.file = 112, layout.name = 128, layout.lines = 136, layout.first_line = 72, layout.instructions = 184;
  layout.code_bytes = 144;
  return layout;
}

Layout of_3_12() {
  Layout layout;
  layout.version = 0x030c;
  layout.chain = Layout::Chain::by_cframe;
  layout.finalizing = 24, layout.interpreters = 40;
  layout.thread_id = 136, layout.frame = 56, layout.cframe_frame = 0;
  layout.previous = 8, layout.code = 0, layout.instruction = 56, layout.owner = 70;
  layout.frame_bytes = 72;
  layout.type = 8, layout.units = 16;
  layout.file = 112, layout.name = 128, layout.lines = 136, layout.first_line = 68, layout.instructions = 192;
  layout.code_bytes = 144;
  layout.ascii_bytes = 40, layout.compact_bytes = 56;
  return layout;
}

// Positions in _Py_DebugOffsets, in 8-byte words. A part that grew moves those behind it.
struct Positions {
  int interpreters_head = 5, finalizing = 4, next_interpreter = 8, threads = 9;
  int previous_thread, next_thread, its_interpreter;
  int current_frame, thread_id;
  int previous, executable, instruction, owner, thread_code;  // thread_code: 0: there is none
  int file, qualified_name, lines, first_line, bytecode, thread_codes;
  int object_bytes, object_type;
  int bytes_length, bytes_data, text_state, text_length, ascii_bytes;
};

// Words of the parts, up to the bytes' object; `thread_id`: where in the thread's.
struct Parts {
  int interpreter, thread, thread_id, frame, code, between;
};
constexpr Positions positions(const Parts& parts) {
  const auto& [interpreter, thread_words, thread_id, frame, code, between] = parts;
  const int thread = 6 + interpreter, frame_at = thread + thread_words, code_at = frame_at + frame;
  const int object = code_at + code, bytes = object + between;
  return {.previous_thread = thread + 1,
          .next_thread = thread + 2,
          .its_interpreter = thread + 3,
          .current_frame = thread + 4,
          .thread_id = thread + thread_id,
          .previous = frame_at + 1,
          .executable = frame_at + 2,
          .instruction = frame_at + 3,
          .owner = frame_at + 5,
          .thread_code = frame > 6 ? frame_at + 7 : 0,
          .file = code_at + 1,
          .qualified_name = code_at + 3,
          .lines = code_at + 4,
          .first_line = code_at + 5,
          .bytecode = code_at + 9,
          .thread_codes = code > 10 ? code_at + 10 : 0,
          .object_bytes = object,
          .object_type = object + 1,
          .bytes_length = bytes + 1,
          .bytes_data = bytes + 2,
          .text_state = bytes + 4,
          .text_length = bytes + 5,
          .ascii_bytes = bytes + 6};
}
constexpr Positions kPositions[] = {
    positions({13, 9, 5, 6, 10, 20}),    // 3.13
    positions({16, 9, 5, 8, 11, 24}),    // 3.14
    positions({16, 17, 8, 8, 11, 28})};  // 3.15, an exception's part behind the thread
constexpr uint16_t kFirstWithTable = 0x030d, kFirstWithoutKey = 0x030f;
static_assert(kPositions[0].ascii_bytes == 70 && kPositions[1].ascii_bytes == 80 &&
              kPositions[2].ascii_bytes == 92 && 92 < kDebugOffsetWords);

}  // namespace

Layout layout_from_table(uint32_t version) {
  if (version == 0x0308 || version == 0x0309 || version == 0x030a) return of_frame_objects(version);
  if (version == 0x030b) return of_3_11();
  if (version == 0x030c) return of_3_12();
  return {};
}

Layout layout_from_debug_offsets(const uint64_t (&offsets)[kDebugOffsetWords]) {
  const auto version = static_cast<uint16_t>(offsets[1] >> 16);
  const bool known =
      version >= kFirstWithTable && version < kFirstWithTable + static_cast<int>(std::size(kPositions));
  if (memcmp(offsets, "xdebugpy", 8) != 0 || !known) return {};
  const Positions& at = kPositions[version - kFirstWithTable];
  constexpr uint64_t kMost = 60'000;  // what is larger is no offset
  bool small = true;
  const auto offset = [&](int position) {
    small &= offsets[position] < kMost;
    return static_cast<uint16_t>(offsets[position]);
  };
  const bool free_threaded = offsets[2] != 0;
  Layout layout;
  layout.version = version;
  layout.finalizing = offset(at.finalizing), layout.interpreters = offset(at.interpreters_head);
  layout.thread_id = offset(at.thread_id), layout.frame = offset(at.current_frame);
  if (version >= kFirstWithoutKey) {
    layout.next_interpreter = offset(at.next_interpreter), layout.threads = offset(at.threads);
    layout.previous_thread = offset(at.previous_thread), layout.next_thread = offset(at.next_thread);
    layout.its_interpreter = offset(at.its_interpreter);
  }
  layout.previous = offset(at.previous), layout.code = offset(at.executable);
  layout.instruction = offset(at.instruction), layout.owner = offset(at.owner);
  layout.frame_bytes = layout.owner + 2u;
  layout.type = offset(at.object_type), layout.units = offset(at.object_bytes);
  layout.file = offset(at.file), layout.name = offset(at.qualified_name), layout.lines = offset(at.lines);
  layout.first_line = offset(at.first_line), layout.instructions = offset(at.bytecode);
  layout.code_bytes = layout.lines + 8u;
  if (free_threaded && at.thread_code) {
    layout.thread_code = offset(at.thread_code);
    layout.thread_codes = offset(at.thread_codes);
    layout.code_bytes = layout.thread_codes + 8u;
  }
  layout.text_length = offset(at.text_length), layout.text_state = offset(at.text_state);
  layout.ascii_bytes = offset(at.ascii_bytes), layout.compact_bytes = layout.ascii_bytes + 16u;
  layout.kind_shift = free_threaded && version >= 0x030e ? 8 : 2;
  layout.bytes_length = offset(at.bytes_length), layout.bytes_data = offset(at.bytes_data);
  // What must hold between them, whatever the build.
  const unsigned object = layout.units;
  const bool sane =
      small && (object == 16 || object == 32) && layout.type == object - 8 && layout.bytes_length == object &&
      layout.bytes_data == object + 16 && layout.text_length == object && layout.text_state == object + 16 &&
      layout.ascii_bytes == object + 24 && layout.frame_bytes <= 128 && layout.code_bytes <= 240 &&
      layout.instructions >= layout.lines + 8u && layout.previous != layout.code &&
      layout.file != layout.name && layout.thread_id > layout.frame &&
      (version < kFirstWithoutKey ||
       (layout.thread_id < 240 && layout.threads != 0 && layout.threads != layout.next_interpreter &&
        layout.next_thread != layout.previous_thread && layout.its_interpreter < layout.thread_id &&
        layout.next_thread < layout.thread_id && layout.previous_thread < layout.thread_id));
  return sane ? layout : Layout{};
}

}  // namespace diogenes::python
