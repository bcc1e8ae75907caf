#include "analysis/symbols/stack_names.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/symbols/mixed_stack.h"
#include "trace/python_sample_records.h"

namespace diogenes {

const std::vector<ReportFrame>& StackNames::stack(StackPlace place) {
  auto [found, fresh] = stacks_.try_emplace(place);
  if (!fresh || !place.process) return found->second;
  const ProcessTrace& process = *place.process;
  Namer& code = namer(process);
  found->second = named_stack(process, place.stack, [&](Frame frame) -> const std::vector<ReportFrame>& {
    return named(process, code, frame);
  });
  for (ReportFrame& frame : found->second) {
    if (frame.language != "python") continue;
    auto [owner, unknown] = code.python_owners.try_emplace(frame.file);
    if (unknown) owner->second = code.owners.of(frame);
    frame.owner = owner->second;
  }
  mark_kernel_entries(found->second);
  return found->second;
}

void StackNames::find(const SiteTable& sites, FramesOf more) {
  for (uint32_t site = 0; site < sites.size(); ++site) {
    const StackPlace& place = sites[SiteIndex{site}].place;
    if (!place.process || stacks_.contains(place)) continue;
    const auto stack = place.process->stacks.frames(place.stack);
    std::vector<Frame>& frames = more[place.process];
    frames.insert(frames.end(), stack.begin(), stack.end());
  }
  for (const auto& [process, frames] : more) find(*process, frames);
}

void StackNames::find(const ProcessTrace& process, std::span<const Frame> frames) {
  Namer& code = namer(process);
  std::unordered_set<uint64_t> seen;
  std::vector<Symbolizer::Place> places;
  for (const Frame frame : frames) {
    if (code.frames.contains(frame.packed) || !seen.insert(frame.packed).second) continue;
    const ModuleRecord* module = process.module(frame.module());
    if (module && !kept_.frames(*module, frame.offset())) places.push_back({module, frame.offset()});
  }
  code.symbolizer.find(places);
}

const std::vector<ReportFrame>& StackNames::named(const ProcessTrace& process, Namer& code, Frame frame) {
  auto [known, fresh] = code.frames.try_emplace(frame.packed);
  if (!fresh) return known->second;
  known->second = found(process, code, frame);
  for (ReportFrame& one : known->second) one.owner = code.owners.of(one);
  return known->second;
}

std::vector<ReportFrame> StackNames::found(const ProcessTrace& process, Namer& code, Frame frame) {
  if (frame.module() == kPythonSampled) return {python_frame(process, frame)};
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
