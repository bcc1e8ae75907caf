#include "analysis/symbols/stack_names.h"

#include <algorithm>

#include "analysis/symbols/mixed_stack.h"

namespace diogenes {

const std::vector<ReportFrame>& StackNames::stack(StackPlace place) {
  auto [found, fresh] = stacks_.try_emplace(place);
  if (!fresh || !place.process) return found->second;
  const ProcessTrace& process = *place.process;
  Namer& code = namer(process);
  found->second = named_stack(process, place.stack, [&](Frame frame) { return named(process, code, frame); });
  for (ReportFrame& frame : found->second) frame.owner = code.owners.of(frame);
  mark_kernel_entries(found->second);
  return found->second;
}

std::vector<ReportFrame> StackNames::frames(const ProcessTrace& process, std::span<const Frame> stack) {
  Namer& code = namer(process);
  std::vector<ReportFrame> frames;
  for (const Frame frame : stack)
    for (ReportFrame& one : named(process, code, frame)) frames.push_back(std::move(one));
  for (ReportFrame& frame : frames) frame.owner = code.owners.of(frame);
  return frames;
}

// One frame of the machine: the functions that were inlined there come first.
std::vector<ReportFrame> StackNames::named(const ProcessTrace& process, Namer& code, Frame frame) {
  static constexpr ModuleRecord kNoFile{};
  const ModuleRecord* module = process.module(frame.module());
  if (!module) return code.symbolizer.frames(kNoFile, frame.offset());
  if (const auto* known = kept_.frames(*module, frame.offset())) return *known;
  std::vector<ReportFrame> found = code.symbolizer.frames(*module, frame.offset());
  kept_.keep(*module, frame.offset(), found);
  return found;
}

StackNames::Namer::Namer(const ProcessTrace& process, const OwnerChoices& choices)
    : symbolizer(process.folder), owners(process.process.executable, choices) {}

StackNames::Namer& StackNames::namer(const ProcessTrace& process) {
  auto [found, fresh] = namers_.try_emplace(&process);
  if (fresh) found->second = std::make_unique<Namer>(process, choices_);
  return *found->second;
}

ReportSource StackNames::source(const ReportFrame& frame, SourceLines& lines) {
  if (const ReportSource* known = kept_.source(frame.file, frame.line)) return *known;
  ReportSource source = lines.at(frame.file, frame.line);
  kept_.keep(frame.file, frame.line, source);
  return source;
}

std::vector<std::string> StackNames::notices() const {
  std::vector<std::string> lines;
  for (const auto& [process, namer] : namers_)
    for (const std::string& line : namer->symbolizer.notices())
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  return lines;
}

}  // namespace diogenes
