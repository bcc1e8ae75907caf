#include "analysis/names.h"

#include <algorithm>

#include "analysis/mixed_stack.h"

namespace diogenes {

const std::vector<ReportFrame>& Names::stack(StackPlace place) {
  auto [found, fresh] = stacks_.try_emplace(place);
  if (!fresh || !place.process) return found->second;
  static constexpr ModuleRecord kNoFile{};
  const ProcessTrace& process = *place.process;
  Namer& code = namer(process);
  found->second = named_stack(process, place.stack, [&](Frame frame) {
    const ModuleRecord* module = process.module(frame.module());
    return code.symbolizer.frames(module ? *module : kNoFile, frame.offset());
  });
  for (ReportFrame& frame : found->second) frame.owner = code.owners.of(frame);
  return found->second;
}

Names::Namer::Namer(const ProcessTrace& process, const OwnerChoices& choices)
    : symbolizer(process.folder), owners(process.process.executable, choices) {}

Names::Namer& Names::namer(const ProcessTrace& process) {
  auto [found, fresh] = namers_.try_emplace(&process);
  if (fresh) found->second = std::make_unique<Namer>(process, choices_);
  return *found->second;
}

std::vector<std::string> Names::notices() const {
  std::vector<std::string> lines;
  for (const auto& [process, namer] : namers_)
    for (const std::string& line : namer->symbolizer.notices())
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  return lines;
}

}  // namespace diogenes
