#include "analysis/symbols/split_functions.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <set>

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
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  const std::span<const uint8_t> code = image_->bytes_at(part.offset, part.size);
  std::set<uint64_t> parents;
  std::string name;
  for (size_t at = 0; at < code.size();) {
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at,
                                                    &instruction))) {
      ++at;  // data in the code
      continue;
    }
    at += instruction.length;
    const bool jumps = instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
                       instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
    if (!jumps || !instruction.raw.imm[0].is_relative) continue;
    const uint64_t target = part.offset + at + static_cast<uint64_t>(instruction.raw.imm[0].value.s);
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
