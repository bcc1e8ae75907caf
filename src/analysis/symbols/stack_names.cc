#include "analysis/symbols/stack_names.h"

#include <algorithm>

#include "analysis/symbols/mixed_stack.h"

namespace diogenes {

const std::vector<ReportFrame>& StackNames::stack(StackPlace place) {
  auto [found, fresh] = stacks_.try_emplace(place);
  if (!fresh || !place.process) return found->second;
  static constexpr ModuleRecord kNoFile{};
  const ProcessTrace& process = *place.process;
  Namer& code = namer(process);
  found->second = named_stack(process, place.stack, [&](Frame frame) {
    const ModuleRecord* module = process.module(frame.module());
    if (!module) return code.symbolizer.frames(kNoFile, frame.offset());
    if (const auto* known = kept_.frames(*module, frame.offset())) return *known;
    std::vector<ReportFrame> named = code.symbolizer.frames(*module, frame.offset());
    kept_.keep(*module, frame.offset(), named);
    return named;
  });
  for (ReportFrame& frame : found->second) frame.owner = code.owners.of(frame);
  return found->second;
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
