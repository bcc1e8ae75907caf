#include "analysis/symbols/mixed_stack.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "analysis/symbols/python_lines.h"
#include "trace/python_sample_records.h"

namespace diogenes {
namespace {

constexpr std::string_view kEvaluator = "_PyEval_EvalFrameDefault";

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct StackSections {
  std::span<const Frame> machine, python, waiter;
};

StackSections sections_of(const ProcessTrace& process, uint32_t stack) {
  const auto frames = process.stacks.frames(stack);
  const auto first = std::find_if(frames.begin(), frames.end(), PythonFrame::is);
  const auto waiter =
      std::find_if(first, frames.end(), [](Frame frame) { return frame.module() == Frame::kPythonOfWaiter; });
  return {{frames.begin(), first}, {first, waiter}, {waiter, frames.end()}};
}

bool is_interpreters(const ProcessTrace& process, Frame frame) {
  const ModuleRecord* module = process.module(frame.module());
  return module && is_interpreter(module->path);
}

bool is_evaluator(const ReportFrame& frame) {
  return frame.function == kEvaluator;  // parts that the compiler split off have the same name (demangle())
}

// One frame of the machine.
struct NamedFrame {
  const std::vector<ReportFrame>* frames;
  bool evaluator = false, hidden = false;
};

}  // namespace

void add_stack(SiteKeyBuilder& key, const ProcessTrace& process, uint32_t stack) {
  const StackSections sections = sections_of(process, stack);
  for (Frame frame : sections.machine) {
    const ModuleRecord* module = process.module(frame.module());
    // The interpreter reaches the same call over other functions once it has specialized its instructions.
    if (module && !sections.python.empty() && is_interpreter(module->path)) continue;
    module ? key.add(module_identity(*module), frame.offset()) : key.add(0, 0);
  }
  for (Frame frame : process.stacks.frames(stack).subspan(sections.machine.size())) {
    const auto code = process.code.code(PythonFrame::of(frame).code);
    if (!code) {
      key.add(0, 0);
      continue;
    }
    key.add(hash_of(code->file), hash_of(code->name));
    key.add(static_cast<uint64_t>(code->first_line),
            place_identity(*code, PythonFrame::of(frame).instruction));
  }
}

ReportFrame python_frame(const ProcessTrace& process, Frame frame) {
  ReportFrame result;
  result.language = "python";
  result.waits = frame.module() == Frame::kPythonOfWaiter;
  const CodeTable& codes = frame.module() == kPythonSampled ? process.sampled_code : process.code;
  const auto code = codes.code(PythonFrame::of(frame).code);
  if (!code) return result;
  result.function = code->name;
  result.file = code->file;
  result.line = position_of(*code, PythonFrame::of(frame).instruction).line;
  if (result.line == 0) result.line = code->first_line;
  return result;
}

std::vector<ReportFrame> named_stack(const ProcessTrace& process, uint32_t stack,
                                     const std::function<const std::vector<ReportFrame>&(Frame)>& resolve) {
  const StackSections sections = sections_of(process, stack);
  std::vector<NamedFrame> machine;
  size_t evaluators = 0;
  for (Frame frame : sections.machine) {
    NamedFrame& named = machine.emplace_back(NamedFrame{&resolve(frame)});
    if (sections.python.empty()) continue;
    named.evaluator = std::any_of(named.frames->begin(), named.frames->end(), is_evaluator);
    named.hidden = named.evaluator || is_interpreters(process, frame);
    evaluators += named.evaluator;
  }
  const auto runs =
      static_cast<size_t>(std::count_if(sections.python.begin(), sections.python.end(),
                                        [](Frame frame) { return PythonFrame::of(frame).entry; }));
  // Evaluators that no frame of Python is known for: the innermost ones, unless outer frames were left out.
  const bool whole = !sections.python.empty() && PythonFrame::of(sections.python.back()).entry;
  size_t unknown = whole && evaluators > runs ? evaluators - runs : 0;

  std::vector<ReportFrame> result;
  size_t next = 0;
  const auto add_run = [&] {
    while (next < sections.python.size()) {
      result.push_back(python_frame(process, sections.python[next]));
      if (PythonFrame::of(sections.python[next++]).entry) return;
    }
  };
  for (NamedFrame& named : machine) {
    if (!named.hidden) result.insert(result.end(), named.frames->begin(), named.frames->end());
    if (!named.evaluator) continue;
    unknown > 0 ? static_cast<void>(--unknown) : add_run();
  }
  while (next < sections.python.size()) add_run();
  for (Frame frame : sections.waiter) result.push_back(python_frame(process, frame));
  return result;
}

}  // namespace diogenes
