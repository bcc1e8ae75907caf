// A process's folder (trace/reader.h). The input is six lengths (little-endian, 4 bytes each), then the
// files: process, modules, stacks, operands, thread-0, python.
#include <algorithm>
#include <cstring>

#include "target.h"
#include "trace/reader.h"

namespace diogenes::fuzz {
namespace {

constexpr const char* kFiles[] = {"process", "modules", "stacks", "operands", "thread-0", "python"};
constexpr size_t kFileCount = std::size(kFiles);

struct Visitor {
  const ProcessTrace& process;
  uint64_t sum = 0;
  size_t records = 0, operations = 0;

  void walk_python(PythonFrame frame) {
    const auto code = process.code.code(frame.code);
    if (!code) return;
    for (char c : code->file) sum += static_cast<uint8_t>(c);
    for (char c : code->name) sum += static_cast<uint8_t>(c);
    for (uint8_t byte : code->lines) sum += byte;
  }
  void walk(uint32_t stack) {
    for (Frame frame : process.stacks.frames(stack)) {
      sum += frame.packed;
      if (PythonFrame::is(frame)) walk_python(PythonFrame::of(frame));
      if (const ModuleRecord* module = process.module(frame.module()))
        sum += strlen(module->path) + module->build_id[std::max(module->build_id_length, uint8_t{1}) - 1];
    }
    sum += process.stacks.cut(stack);
  }
  void operator()(const OperationRecord& record, uint32_t sequence) {
    require(sequence == operations++, "operations are numbered one after the other");
    walk(record.stack);
    ++records;
  }
  void operator()(const CallRecord& record, uint32_t) {
    for (const OperandRecord& operand : process.operands.operands(record.operands)) sum += operand.begin;
    sum += process.operands.flags(record.operands) + process.operands.holds(record.operands);
    ++records;
  }
  void operator()(const TouchRecord& record, uint32_t) {
    walk(record.stack);
    ++records;
  }
  template <typename Record>
  void operator()(const Record& record, uint32_t) {
    uint8_t last = 0;
    memcpy(&last, reinterpret_cast<const uint8_t*>(&record) + sizeof record - 1, 1);
    sum += last;
    ++records;
  }
};

}  // namespace

void run_on(std::span<const uint8_t> bytes) {
  const std::filesystem::path folder = scratch_folder() / "node-1";
  std::filesystem::create_directory(folder);
  uint32_t lengths[kFileCount] = {};
  if (bytes.size() < sizeof lengths) return;
  memcpy(lengths, bytes.data(), sizeof lengths);
  bytes = bytes.subspan(sizeof lengths);
  for (size_t i = 0; i < kFileCount; ++i) {
    const size_t length = std::min<size_t>(lengths[i], bytes.size());
    write_file(folder / kFiles[i], bytes.first(length));
    bytes = bytes.subspan(length);
  }
  Result<StageTrace> stage = read_stage(scratch_folder());
  require(stage.ok(), "a folder that is there can be read");
  for (const ProcessTrace& process : stage->processes)
    for (const ThreadTrace& thread : process.threads) {
      Visitor visitor{process};
      thread.visit(visitor);
      require(visitor.records <= thread.record_count(), "no record is visited twice");
      require(visitor.operations == thread.operation_count(), "all operations are visited");
    }
}

}  // namespace diogenes::fuzz
