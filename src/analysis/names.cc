#include "analysis/names.h"

#include <algorithm>

#include "analysis/mixed_stack.h"

namespace diogenes {

const std::vector<ReportFrame>& Names::stack(StackPlace place) {
  auto [found, fresh] = stacks_.try_emplace(place);
  if (!fresh || !place.process) return found->second;
  static constexpr ModuleRecord kNoFile{};
  const ProcessTrace& process = *place.process;
  return found->second = named_stack(process, place.stack, [&](Frame frame) {
           const ModuleRecord* module = process.module(frame.module());
           return symbolizer(process).frames(module ? *module : kNoFile, frame.offset());
         });
}

Symbolizer& Names::symbolizer(const ProcessTrace& process) {
  auto [found, fresh] = symbolizers_.try_emplace(&process);
  if (fresh) found->second = std::make_unique<Symbolizer>(process.folder);
  return *found->second;
}

std::vector<std::string> Names::notices() const {
  std::vector<std::string> lines;
  for (const auto& [process, symbolizer] : symbolizers_)
    for (const std::string& line : symbolizer->notices())
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  return lines;
}

}  // namespace diogenes
