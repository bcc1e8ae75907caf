#include "analysis/symbols/split_functions.h"

#include <algorithm>
#include <set>

#include "driver/hooking/decoded_instruction.h"

namespace diogenes {

SplitFunctions::SplitFunctions(const std::filesystem::path& file) {
  Result<Image> image = Image::open(file);
  if (!image) return;
  image_ = std::move(*image);
  for (const Image::Export& one : image_->exports())
    if (one.size > 0 && !one.indirect) exports_.push_back(one);
  std::sort(exports_.begin(), exports_.end(),
            [](const Image::Export& a, const Image::Export& b) { return a.offset < b.offset; });
}

std::string SplitFunctions::function_of(uint64_t address) {
  if (!image_ || address < image_->image_base()) return "";
  const Image::Function* part = image_->containing_function(address - image_->image_base());
  if (!part || image_->is_export(part->offset)) return "";
  const auto known = parents_.find(part->offset);
  return known != parents_.end() ? known->second
                                 : parents_.emplace(part->offset, parent_of(*part)).first->second;
}

std::string SplitFunctions::parent_of(const Image::Function& part) const {
  const InstructionDecoder decoder;
  const std::span<const uint8_t> code = image_->bytes_at(part.offset, part.size);
  std::set<uint64_t> parents;
  std::string name;
  Instruction instruction;
  for (size_t at = 0, length = 1; at < code.size(); at += length) {
    const bool decoded = decoder.decode_quickly(code.subspan(at), &instruction);
    length = decoded ? instruction.length() : 1;  // data in the code
    if (!decoded || !instruction.is_relative_jump()) continue;
    const uint64_t target = instruction.branch_target(part.offset + at);
    auto next =
        std::upper_bound(exports_.begin(), exports_.end(), target,
                         [](uint64_t offset, const Image::Export& one) { return offset < one.offset; });
    if (next == exports_.begin()) continue;
    const Image::Export& into = *std::prev(next);
    if (target == into.offset || target >= into.offset + into.size) continue;
    parents.insert(into.offset);
    name = into.name;
  }
  return parents.size() == 1 ? name : "";
}

}  // namespace diogenes
