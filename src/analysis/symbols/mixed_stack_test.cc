#include "analysis/symbols/mixed_stack.h"

#include <gtest/gtest.h>

#include <map>

#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
using Names = std::vector<std::string>;

// Two functions of 3.12: in each, eight units on line 1 after its first, then eight on the next.
const std::string kLines = "\xef\x02\xef\x02";  // 13: a line, no columns; by one line each (svarint 2)
enum Module : uint8_t { library, interpreter };
constexpr uint64_t kEvaluator = 0x500, kInside = 0x600;  // offsets in the interpreter

const std::vector<ReportFrame>& resolve(Frame frame) {
  static std::map<uint64_t, std::vector<ReportFrame>> all;
  ReportFrame result;
  if (frame.module() == interpreter)
    result.function = frame.offset() == kEvaluator ? "_PyEval_EvalFrameDefault" : "cfunction_call";
  else
    result.function = "native" + std::to_string(frame.offset());
  return all[frame.packed] = {result};
}

struct Recorded {
  TemporaryFolder folder;
  Facts facts;
  uint32_t step, main;
  StageTrace stage;

  Recorded() {
    facts.module("/lib/libtorch.so", 0x10000).module("/usr/bin/python3.12", 0x20000);
    step = facts.code(0x030c, "/app/train.py", "Model.step", 40, kLines);
    main = facts.code(0x030c, "/app/train.py", "<module>", 1, kLines);
  }
  const ProcessTrace& with(const std::vector<std::vector<Frame>>& stacks) {
    for (const auto& frames : stacks) facts.call("cuCtxSynchronize", {.begin = next += 100, .stack = frames});
    facts.write(folder.path());
    auto read = read_stage(folder.path());
    stage = std::move(*read);
    return stage.processes[0];
  }
  uint32_t stack(const ProcessTrace& process, size_t call) const {
    uint32_t found = 0;
    process.threads[0].visit([&, at = size_t{0}](const auto& record, uint32_t) mutable {
      if constexpr (std::is_same_v<std::decay_t<decltype(record)>, OperationRecord>)
        if (at++ == call) found = record.stack;
    });
    return found;
  }
  Names names(const ProcessTrace& process, size_t call) const {
    Names result;
    for (const ReportFrame& frame : named_stack(process, stack(process, call), resolve))
      result.push_back(frame.line ? frame.function + ":" + std::to_string(frame.line) : frame.function);
    return result;
  }
  SiteKey key(const ProcessTrace& process, size_t call) const {
    SiteKeyBuilder builder("");
    add_stack(builder, process, stack(process, call));
    return builder.key();
  }
  int64_t next = 0;
};

Frame native(uint64_t offset) { return Frame::of(library, offset); }
const Frame kEval = Frame::of(interpreter, kEvaluator), kCall = Frame::of(interpreter, kInside);

TEST(MixedStack, EachEvaluatorStandsForItsFrames) {
  Recorded recorded;
  const Frame inner = PythonFrame{recorded.step, 3, true}.packed(),
              middle = PythonFrame{recorded.step, 9, false}.packed(),
              outer = PythonFrame{recorded.main, 0, true}.packed();
  const ProcessTrace& process = recorded.with(
      {{native(1), kCall, kEval, kCall, native(2), kEval, kCall, native(3), inner, middle, outer}});
  EXPECT_EQ(recorded.names(process, 0),
            (Names{"native1", "Model.step:41", "native2", "Model.step:42", "<module>:2", "native3"}));
}

TEST(MixedStack, WithoutPythonFramesTheInterpretersOwnStay) {
  Recorded recorded;
  const ProcessTrace& process = recorded.with({{native(1), kCall, kEval}});
  EXPECT_EQ(recorded.names(process, 0), (Names{"native1", "cfunction_call", "_PyEval_EvalFrameDefault"}));
}

// More evaluators than Python frames: the innermost ones are another interpreter's. More Python frames than
// evaluators: the machine's stack was cut.
TEST(MixedStack, WhatDoesNotFitStaysInOrder) {
  Recorded recorded;
  const Frame inner = PythonFrame{recorded.step, 0, true}.packed(),
              outer = PythonFrame{recorded.main, 0, true}.packed();
  const ProcessTrace& process = recorded.with(
      {{native(1), kEval, native(2), kEval, native(3), outer}, {native(1), kEval, inner, outer}});
  EXPECT_EQ(recorded.names(process, 0), (Names{"native1", "native2", "<module>:2", "native3"}));
  EXPECT_EQ(recorded.names(process, 1), (Names{"native1", "Model.step:41", "<module>:2"}));
}

// The interpreter takes other ways to the same place, at other instructions of the same line.
TEST(MixedStack, AKeyIsThePlaceInTheText) {
  Recorded recorded;
  const auto stack = [&](uint64_t offset, uint32_t function, uint32_t instruction) {
    return std::vector<Frame>{native(offset), kEval, PythonFrame{function, instruction, true}.packed()};
  };
  const uint32_t columns = recorded.facts.code(0x030c, "/app/a.py", "f", 1, "\xd7\x04\x09");  // 8 units
  const uint32_t same = recorded.facts.code(0x030c, "/app/a.py", "f", 1, "\xd7\x04\x09");
  const uint32_t other = recorded.facts.code(0x030c, "/app/b.py", "f", 1, "\xd7\x04\x09");
  std::vector<Frame> specialized = stack(1, columns, 5);
  specialized.insert(specialized.begin() + 1, {kCall, kCall});
  const ProcessTrace& process =
      recorded.with({stack(1, columns, 2), specialized, stack(1, same, 2), stack(1, other, 2),
                     stack(2, columns, 2), stack(1, recorded.step, 3), stack(1, recorded.step, 9)});
  EXPECT_EQ(recorded.key(process, 0), recorded.key(process, 1));
  EXPECT_EQ(recorded.key(process, 0), recorded.key(process, 2));
  EXPECT_NE(recorded.key(process, 0), recorded.key(process, 3));
  EXPECT_NE(recorded.key(process, 0), recorded.key(process, 4));
  EXPECT_NE(recorded.key(process, 5), recorded.key(process, 6));
}

TEST(MixedStack, CodeThatIsLostHasNoName) {
  Recorded recorded;
  const ProcessTrace& process = recorded.with({{kEval, PythonFrame{0x7fffff, 1, true}.packed()}});
  const auto frames = named_stack(process, recorded.stack(process, 0), resolve);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].language, "python");
  EXPECT_EQ(frames[0].function, "");
}

TEST(MixedStack, InterpretersAreKnownByTheirName) {
  for (const char* path : {"/usr/bin/python3.11", "/opt/python/bin/python", "/usr/lib/libpython3.13t.so.1.0"})
    EXPECT_TRUE(is_interpreter(path)) << path;
  for (const char* path : {"/lib/libtorch_python.so", "/lib/_ctypes.cpython-311.so", "/bin/pythonize", ""})
    EXPECT_FALSE(is_interpreter(path)) << path;
}

}  // namespace
}  // namespace diogenes
