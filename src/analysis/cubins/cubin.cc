#include "analysis/cubins/cubin.h"

#include <algorithm>
#include <tuple>

#include "base/read_bytes.h"

namespace diogenes {
namespace {

constexpr uint8_t kKernel = 0x10;            // of a symbol's `other`
constexpr uint32_t kFirstMark = 0xfffffffc;  // of .nv.callgraph: the highest four, with 0 before them
constexpr uint32_t kCandidates = kFirstMark;
constexpr size_t kMostSymbolInSentence = 120;

bool is_code(const CubinFile::Section& section) {
  return section.type == SHT_PROGBITS && (section.flags & SHF_EXECINSTR) != 0;
}

std::string_view without_kernel(std::string_view symbol) {
  if (!symbol.starts_with('$')) return symbol;
  const size_t second = symbol.find('$', 1);
  return second == std::string_view::npos ? symbol : symbol.substr(second + 1);
}

}  // namespace

Result<Cubin> Cubin::read(std::vector<uint8_t> bytes) {
  const auto file = CubinFile::read(bytes);
  if (!file) return file.error();
  Cubin cubin(std::move(bytes), *file);
  cubin.symbols_ = read_cubin_symbols(cubin.file_);
  if (Status read = cubin.read_functions(); !read) return read.error();
  cubin.relocations_ = read_cubin_relocations(cubin.file_, is_code);
  cubin.branch_targets_ = read_branch_targets(cubin.file_);
  cubin.lines_ = GpuLines(cubin.file_, cubin.symbols_);
  cubin.check_code();
  cubin.read_candidates();
  return cubin;
}

Status Cubin::read_functions() {
  std::vector<uint64_t> code_bytes(file_.section_count());
  uint64_t bytes = 0, name_bytes = 0;
  for (uint32_t i = 0; i < file_.section_count(); ++i)
    if (const CubinFile::Section section = file_.section(i); is_code(section)) {
      code_bytes[i] = section.contents.size();
      bytes += code_bytes[i];
    }
  if (bytes > bytes_.size())
    return error("GPU code of %zu bytes has sections that lie in one another", bytes_.size());
  for (const CubinSymbol& symbol : symbols_.all) {
    const uint64_t limit = symbol.section < code_bytes.size() ? code_bytes[symbol.section] : 0;
    if (symbol.type != STT_FUNC || symbol.value >= limit || symbol.size == 0) continue;
    if (functions_.size() >= kMostFunctions)
      return error("GPU code has more than %zu functions", kMostFunctions);
    const std::string_view name = symbols_.name(symbol);
    name_bytes += name.size();
    if (name_bytes > bytes_.size())
      return error("GPU code of %zu bytes has names that lie in one another", bytes_.size());
    functions_.push_back({name, without_kernel(name), (symbol.other & kKernel) != 0, symbol.section,
                          static_cast<uint32_t>(symbol.value),
                          static_cast<uint32_t>(symbol.value + std::min(symbol.size, limit - symbol.value))});
  }
  const auto place = [](const GpuFunction& one) { return std::tie(one.section, one.begin); };
  std::stable_sort(
      functions_.begin(), functions_.end(), [&](const GpuFunction& one, const GpuFunction& other) {
        return place(one) != place(other) ? place(one) < place(other) : one.is_kernel && !other.is_kernel;
      });
  functions_.erase(std::unique(functions_.begin(), functions_.end(),
                               [&](const GpuFunction& one, const GpuFunction& other) {
                                 return place(one) == place(other);
                               }),
                   functions_.end());
  for (size_t i = 0; i + 1 < functions_.size(); ++i)
    if (functions_[i].section == functions_[i + 1].section)
      functions_[i].end = std::min(functions_[i].end, functions_[i + 1].begin);
  for (uint32_t i = 0; i < functions_.size(); ++i) by_symbol_.push_back({i});
  std::stable_sort(by_symbol_.begin(), by_symbol_.end(), [&](GpuFunctionIndex one, GpuFunctionIndex other) {
    return function(one).symbol < function(other).symbol;
  });
  return Done{};
}

GpuFunctionIndex Cubin::holding(uint32_t section, uint64_t offset) const {
  const auto next = std::upper_bound(functions_.begin(), functions_.end(), std::tie(section, offset),
                                     [](const auto& wanted, const GpuFunction& one) {
                                       return std::get<0>(wanted) != one.section
                                                  ? std::get<0>(wanted) < one.section
                                                  : std::get<1>(wanted) < one.begin;
                                     });
  if (next == functions_.begin()) return {};
  const GpuFunction& found = *std::prev(next);
  if (found.section != section || offset >= found.end) return {};
  return {static_cast<uint32_t>(next - functions_.begin() - 1)};
}

GpuFunctionIndex Cubin::starting_at(uint32_t section, uint64_t offset) const {
  const GpuFunctionIndex found = holding(section, offset);
  return found.valid() && function(found).begin == offset ? found : GpuFunctionIndex{};
}

std::optional<GpuPlace> Cubin::find(std::string_view symbol, uint64_t offset) const {
  const auto found = std::lower_bound(
      by_symbol_.begin(), by_symbol_.end(), symbol,
      [&](GpuFunctionIndex one, std::string_view wanted) { return function(one).symbol < wanted; });
  if (found == by_symbol_.end() || function(*found).symbol != symbol || offset > CubinFile::kMostBytes)
    return std::nullopt;
  const uint64_t in_section = function(*found).begin + offset;
  const GpuFunctionIndex holder = holding(function(*found).section, in_section);
  if (!holder.valid()) return std::nullopt;
  return GpuPlace{holder, static_cast<uint32_t>(in_section)};
}

std::span<const uint8_t> Cubin::code_of(const GpuFunction& function) const {
  return file_.section(function.section).contents.subspan(function.begin, function.end - function.begin);
}

std::optional<GpuControl> Cubin::control_at(const GpuFunction& function, std::span<const uint8_t> code,
                                            uint32_t offset) const {
  const auto found = control_instruction(
      architecture(), code.subspan(offset - function.begin).first<kGpuInstructionBytes>(), offset);
  if (!found) return std::nullopt;
  GpuControl control{*found, offset, {}, {}};
  if (found->kind == ControlKind::call && found->target >= 0) {
    const auto target = static_cast<uint64_t>(found->target);
    control.callee = starting_at(function.section, target);
    // For sm_80 nvcc writes jumps out of some loops so.
    if (!control.callee.valid() && function.begin <= target && target < function.end)
      control.instruction.kind = ControlKind::branch;
  } else if (found->kind == ControlKind::call_by_name) {
    const auto wanted = std::pair(function.section, uint64_t{offset});
    auto at = std::lower_bound(relocations_.begin(), relocations_.end(), wanted,
                               [](const CubinRelocation& one, const auto& place) {
                                 return std::pair(one.section, one.offset) < place;
                               });
    for (; at != relocations_.end() && std::pair(at->section, at->offset) == wanted; ++at) {
      if (at->type != kCallRelocation && at->type != kOlderCallRelocation) continue;
      const CubinSymbol symbol = symbols_.at(at->symbol);
      control.callee_symbol = symbols_.name(symbol);
      control.callee = starting_at(symbol.section, symbol.value);
      break;
    }
  }
  return control;
}

std::vector<GpuControl> Cubin::control_of(GpuFunctionIndex index) const {
  std::vector<GpuControl> found;
  if (!has_control_flow()) return found;
  const GpuFunction& wanted = function(index);
  const std::span<const uint8_t> code = code_of(wanted);
  for (uint32_t offset = wanted.begin; wanted.end - offset >= kGpuInstructionBytes;
       offset += kGpuInstructionBytes)
    if (const auto control = control_at(wanted, code, offset)) found.push_back(*control);
  return found;
}

const char* Cubin::fault_of(const GpuFunction& function, const GpuControl& control) const {
  const int64_t target = control.instruction.target;
  switch (control.instruction.kind) {
    case ControlKind::call:
      return control.callee.valid() ? nullptr : "calls a place where no function starts";
    case ControlKind::call_by_name:
      return control.callee.valid() || !control.callee_symbol.empty() ? nullptr
                                                                      : "calls a function without a name";
    case ControlKind::branch:
      return target >= function.begin && target < function.end && target % kGpuInstructionBytes == 0
                 ? nullptr
                 : "branches to a place outside of it, or between two instructions";
    default:
      return nullptr;
  }
}

void Cubin::check_code() {
  called_directly_.assign(functions_.size(), false);
  if (!is_known_gpu(architecture())) {
    doubt_ =
        error("this version knows no code for sm_%d; functions and lines are shown, calls and loops are not",
              architecture());
    return;
  }
  for (const GpuFunction& one : functions_) {
    const std::span<const uint8_t> code = code_of(one);
    const char* fault = one.begin % kGpuInstructionBytes != 0 ? "starts between two instructions" : nullptr;
    uint32_t offset = one.begin;
    while (!fault && one.end - offset >= kGpuInstructionBytes) {
      if (const auto control = control_at(one, code, offset)) {
        fault = fault_of(one, *control);
        if (control->callee.valid()) called_directly_[control->callee.value] = true;
      }
      if (!fault) offset += kGpuInstructionBytes;
    }
    if (!fault) continue;
    const std::string_view name = one.symbol.substr(0, kMostSymbolInSentence);
    doubt_ = error(
        "GPU code for sm_%d is not as this version expects it: %.*s %s, at byte %u of its section; "
        "functions and lines are shown, calls and loops are not",
        architecture(), static_cast<int>(name.size()), name.data(), fault, offset);
    return;
  }
}

std::vector<uint32_t> Cubin::branch_targets(GpuFunctionIndex index, uint32_t offset) const {
  const GpuFunction& holder = function(index);
  std::vector<uint32_t> targets;
  for (auto at = std::lower_bound(branch_targets_.begin(), branch_targets_.end(),
                                  BranchTarget{holder.section, offset, 0});
       at != branch_targets_.end() && at->section == holder.section && at->branch == offset; ++at) {
    if (at->target < holder.begin || at->target >= holder.end || at->target % kGpuInstructionBytes != 0)
      return {};
    targets.push_back(at->target);
  }
  return targets;
}

void Cubin::read_candidates() {
  const std::span<const uint8_t> pairs = file_.section(std::string_view(".nv.callgraph")).contents;
  uint32_t caller = 0, called = 0, mark = 0;
  for (size_t position = 0;
       read_number(pairs, &position, &caller) && read_number(pairs, &position, &called);) {
    if (caller == 0 && called >= kFirstMark) {
      mark = called;
    } else if (mark == kCandidates) {
      const CubinSymbol from = symbols_.at(caller), to = symbols_.at(called);
      const GpuFunctionIndex one = starting_at(from.section, from.value),
                             other = starting_at(to.section, to.value);
      if (one.valid() && other.valid()) candidates_.push_back({one, other});
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
}

std::vector<GpuFunctionIndex> Cubin::candidates(GpuFunctionIndex index) const {
  std::vector<GpuFunctionIndex> found;
  for (auto at =
           std::lower_bound(candidates_.begin(), candidates_.end(), std::pair(index, GpuFunctionIndex{0}));
       at != candidates_.end() && at->first == index; ++at)
    found.push_back(at->second);
  if (!found.empty() || !has_control_flow()) return found;
  const uint32_t section = function(index).section;
  const auto first = std::partition_point(functions_.begin(), functions_.end(),
                                          [&](const GpuFunction& one) { return one.section < section; });
  // What a section starts with is a kernel or, with -rdc=true, alone there: others may call it.
  for (auto i = static_cast<uint32_t>(first - functions_.begin() + 1);
       i < functions_.size() && functions_[i].section == section; ++i)
    if (!called_directly_[i]) found.push_back({i});
  return found;
}

std::vector<GpuFrame> Cubin::frames_at(GpuPlace place) const {
  const GpuFunction& holder = function(place.function);
  return lines_.frames_at(holder.section, place.offset, holder.name);
}

}  // namespace diogenes
