#include "driver/hooking/hook_planner.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/in_background.h"
#include "driver/catalogue.h"
#include "driver/hooking/decoded_instruction.h"

namespace diogenes {
namespace {

constexpr uint64_t kJumpBytes = 5;
// Of a driver's 30 MiB of code, which are searched before each run.
constexpr size_t kSearchedAtOnce = 1 << 20, kMostThreads = 8;

// Appends one displaced instruction to site.moved.
class Mover {
 public:
  Mover(HookSite* site, uint64_t here) : site_(*site), here_(here) {}

  Refusal move(const Instruction& instruction, std::span<const uint8_t> bytes) {
    if (instruction.is_relative_branch()) return move_branch(instruction);
    const auto& raw = instruction.decoded.raw;
    bool eip_relative = false, rip_relative = false;
    for (int i = 0; i < instruction.decoded.operand_count; ++i) {
      const ZydisDecodedOperand& operand = instruction.operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
      rip_relative |= operand.mem.base == ZYDIS_REGISTER_RIP;
      eip_relative |= operand.mem.base == ZYDIS_REGISTER_EIP;
    }
    if (eip_relative) return Refusal::unmovable;
    if (rip_relative) {
      if (raw.disp.size != 32) return Refusal::unmovable;
      const uint64_t length = instruction.length();
      if (!add_fixup(site_.moved_length + raw.disp.offset, length - raw.disp.offset - 4,
                     here_ + length + static_cast<uint64_t>(raw.disp.value)))
        return Refusal::too_long;
    }
    return append(bytes.first(instruction.length())) ? Refusal::none : Refusal::too_long;
  }

 private:
  Refusal move_branch(const Instruction& instruction) {
    const ZydisDecodedInstruction& decoded = instruction.decoded;
    // The operand-size prefix makes the branch one of 16 bits on some processors.
    if ((decoded.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0) return Refusal::unmovable;
    uint8_t code[2] = {};
    size_t length = 1;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_CALL) {
      code[0] = 0xe8;
    } else if (decoded.mnemonic == ZYDIS_MNEMONIC_JMP) {
      code[0] = 0xe9;
    } else if ((decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (decoded.opcode & 0xf0) == 0x70) ||
               (decoded.opcode_map == ZYDIS_OPCODE_MAP_0F && (decoded.opcode & 0xf0) == 0x80)) {
      code[0] = 0x0f;
      code[1] = static_cast<uint8_t>(0x80 | (decoded.opcode & 0x0f));
      length = 2;
    } else {
      return Refusal::unmovable;  // loop, jrcxz, xbegin
    }
    const uint8_t zero[4] = {};
    const uint64_t at = site_.moved_length + length;
    if (!append({code, length}) || !append(zero)) return Refusal::too_long;
    return add_fixup(at, 0, instruction.branch_target(here_)) ? Refusal::none : Refusal::too_long;
  }

  bool append(std::span<const uint8_t> bytes) {
    if (site_.moved_length + bytes.size() > sizeof site_.moved) return false;
    memcpy(site_.moved + site_.moved_length, bytes.data(), bytes.size());
    site_.moved_length = static_cast<uint8_t>(site_.moved_length + bytes.size());
    return true;
  }

  bool add_fixup(uint64_t at, uint64_t trailing, uint64_t target) {
    if (site_.fixup_count >= std::size(site_.fixups)) return false;
    site_.fixups[site_.fixup_count++] = {
        static_cast<uint8_t>(at), static_cast<uint8_t>(trailing), {}, target};
    return true;
  }

  HookSite& site_;
  uint64_t here_;
};

class Planner {
 public:
  explicit Planner(const Image& image) : image_(image) {}

  Refusal plan(const HookRequest& request, HookSite* site) const {
    const uint64_t entry = request.entry;
    if (!image_.executable(entry)) return Refusal::no_code;
    const Image::Function* function = image_.containing_function(entry);
    if (function == nullptr) return Refusal::no_bounds;
    const uint64_t end = function->end();

    *site = {};
    site->entry = entry;
    site->function = request.function;
    Instruction instruction;
    uint64_t here = entry;
    bool path_ended = false;
    while (here - entry < kJumpBytes && !path_ended) {
      if (here >= end) return Refusal::too_short;
      const auto bytes = image_.bytes_at(here, end - here);
      if (!decoder_.decode(bytes, &instruction)) return Refusal::undecodable;
      if (instruction.is_trap()) return Refusal::breakpoint;
      if (const Refusal refusal = Mover(site, here).move(instruction, bytes); refusal != Refusal::none)
        return refusal;
      path_ended = instruction.ends_path();
      here += instruction.length();
    }
    if (here - entry < kJumpBytes) {  // it returns before: only padding may be overwritten
      if (here != end) return Refusal::too_short;
      if (!covers_padding(&here, entry + kJumpBytes)) return Refusal::too_short;
    }
    site->returns = path_ended;
    site->displaced = static_cast<uint8_t>(here - entry);
    if (site->displaced > 31) return Refusal::too_long;
    const auto expected = image_.bytes_at(entry, sizeof site->expected);
    if (expected.size() < site->displaced) return Refusal::no_code;
    memcpy(site->expected, expected.data(), expected.size());
    if (starts_inside(entry, entry + site->displaced)) return Refusal::branched_into;
    return branches_into(*function, *site);
  }

 private:
  // Moves *here over nop and int3 until `until` is reached; false when something else, or another function,
  // comes first.
  bool covers_padding(uint64_t* here, uint64_t until) const {
    while (*here < until) {
      if (image_.containing_function(*here) != nullptr) return false;
      Instruction instruction;
      if (!decoder_.decode(image_.bytes_at(*here, 16), &instruction) || !instruction.is_padding())
        return false;
      *here += instruction.length();
    }
    return true;
  }

  // Does another function, or an exported name, begin inside (begin, end)?
  bool starts_inside(uint64_t begin, uint64_t end) const {
    const Image::Function* next = image_.function_after(begin);
    if (next != nullptr && next->offset < end) return true;
    for (uint64_t offset = begin + 1; offset < end; ++offset)
      if (image_.is_export(offset)) return true;
    return false;
  }

  // Decodes the function from its first byte to its last, and its neighbours as far as a short branch
  // reaches.
  Refusal branches_into(const Image::Function& function, const HookSite& site) const {
    constexpr uint64_t kShortReach = 130;
    const Refusal own = search(function, site);
    if (own != Refusal::none) return own;
    const uint64_t from = site.entry - std::min(site.entry, kShortReach);
    const auto functions = image_.functions();
    auto neighbour = std::upper_bound(functions.begin(), functions.end(), from,
                                      [](uint64_t offset, const auto& f) { return offset < f.offset; });
    if (neighbour != functions.begin()) --neighbour;
    for (; neighbour != functions.end() && neighbour->offset < site.entry + site.displaced + kShortReach;
         ++neighbour)
      if (neighbour->offset != function.offset && search(*neighbour, site) == Refusal::branched_into)
        return Refusal::branched_into;
    return Refusal::none;
  }

  Refusal search(const Image::Function& function, const HookSite& site) const {
    const auto bytes = image_.bytes_at(function.offset, function.size);
    if (bytes.size() < function.size) return Refusal::undecodable;
    Instruction instruction;
    for (uint64_t position = 0; position < bytes.size();) {
      if (!decoder_.decode_quickly(bytes.subspan(position), &instruction)) return Refusal::undecodable;
      const uint64_t here = function.offset + position;
      if (instruction.is_relative_branch()) {
        const uint64_t target = instruction.branch_target(here);
        if (target > site.entry && target < site.entry + site.displaced) return Refusal::branched_into;
      }
      position += instruction.length();
    }
    return Refusal::none;
  }

  const Image& image_;
  InstructionDecoder decoder_;
};

// Refuses the hooks into whose displaced bytes a 32-bit branch goes from anywhere in the image: the cold part
// of a function (which has bounds of its own), a sibling that skips an endbr64. Every byte is taken for a
// possible branch opcode; what looks like a branch inside a function with bounds is one only if it is decoded
// as one from the function's first byte on.
bool is_branch_to(const Image& image, uint64_t position, uint64_t target) {
  const Image::Function* function = image.containing_function(position);
  if (!function) return true;  // no bounds: it may be code
  const auto bytes = image.bytes_at(function->offset, function->size);
  const InstructionDecoder decoder;
  Instruction instruction;
  for (uint64_t at = 0; at < bytes.size(); at += instruction.length()) {
    if (!decoder.decode_quickly(bytes.subspan(at), &instruction)) return true;
    if (instruction.is_relative_branch() && instruction.branch_target(function->offset + at) == target)
      return true;
  }
  return false;
}

// What may be a 32-bit branch, and where it goes; both as offsets in the image.
struct PossibleBranch {
  uint64_t position = 0, target = 0;
};

// Of the bytes of a segment that begin in [begin, end), those that go to where `inside` is set; it begins at `lowest`.
std::vector<PossibleBranch> branches_inside(const Image::Segment& segment, size_t begin, size_t end,
                                            const std::vector<bool>& inside, uint64_t lowest) {
  std::vector<PossibleBranch> found;
  const uint8_t* bytes = segment.contents.data();
  for (size_t i = begin; i < end && i + 5 <= segment.contents.size(); ++i) {
    size_t displacement;
    if ((bytes[i] & 0xfe) == 0xe8)
      displacement = i + 1;
    else if (bytes[i] == 0x0f && (bytes[i + 1] & 0xf0) == 0x80 && i + 6 <= segment.contents.size())
      displacement = i + 2;
    else
      continue;
    int32_t distance;
    memcpy(&distance, bytes + displacement, 4);
    const uint64_t target =
        segment.offset + displacement + 4 + static_cast<uint64_t>(int64_t{distance}) - lowest;
    if (target < inside.size() && inside[target]) found.push_back({segment.offset + i, target + lowest});
  }
  return found;
}

void refuse_branch_targets(const Image& image, std::vector<PlannedHook>* hooks) {
  uint64_t lowest = UINT64_MAX, highest = 0;
  for (const PlannedHook& hook : *hooks) {
    if (!hook.ok()) continue;
    lowest = std::min(lowest, hook.site.entry);
    highest = std::max(highest, hook.site.entry + hook.site.displaced);
  }
  if (lowest >= highest) return;
  std::vector<bool> inside(highest - lowest), hit(highest - lowest);
  for (const PlannedHook& hook : *hooks)
    for (uint64_t i = 1; hook.ok() && i < hook.site.displaced; ++i)
      inside[hook.site.entry + i - lowest] = true;

  for (const Image::Segment& segment : image.segments()) {
    if (!segment.executable) continue;
    std::vector<std::vector<PossibleBranch>> found((segment.contents.size() + kSearchedAtOnce - 1) /
                                                   kSearchedAtOnce);
    each_on_threads(kMostThreads, found.size(), [&](size_t i) {
      found[i] = branches_inside(segment, i * kSearchedAtOnce, (i + 1) * kSearchedAtOnce, inside, lowest);
    });
    for (const auto& part : found)
      for (const PossibleBranch& branch : part)
        if (!hit[branch.target - lowest])
          hit[branch.target - lowest] = is_branch_to(image, branch.position, branch.target);
  }
  for (PlannedHook& hook : *hooks)
    for (uint64_t i = 1; hook.ok() && i < hook.site.displaced; ++i)
      if (hit[hook.site.entry + i - lowest]) hook.refusal = Refusal::branched_into;
}

void refuse_shared_bytes(std::vector<PlannedHook>* hooks) {
  std::map<uint64_t, const PlannedHook*> by_entry;
  for (PlannedHook& hook : *hooks) {
    if (!hook.ok()) continue;
    const auto [first, is_new] = by_entry.try_emplace(hook.site.entry, &hook);
    if (is_new) continue;
    hook.refusal = Refusal::same_entry;
    hook.same_as = first->second->request.function;
  }
  for (PlannedHook& hook : *hooks) {
    if (!hook.ok()) continue;
    const auto next = by_entry.upper_bound(hook.site.entry);
    if (next != by_entry.end() && next->first < hook.site.entry + hook.site.displaced)
      hook.refusal = Refusal::overlaps;
  }
}

}  // namespace

const char* sentence(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "planned";
    case Refusal::no_code:
      return "its entry is in no executable part of the file";
    case Refusal::no_bounds:
      return "no unwind information gives its bounds";
    case Refusal::too_short:
      return "it is too short for a jump, and what follows is not provably padding";
    case Refusal::undecodable:
      return "it has an instruction that the decoder does not know";
    case Refusal::breakpoint:
      return "it begins with a breakpoint or trap";
    case Refusal::unmovable:
      return "one of its first instructions cannot be moved";
    case Refusal::branched_into:
      return "a branch goes into its first instructions";
    case Refusal::too_long:
      return "its first instructions do not fit a hook";
    case Refusal::same_entry:
      return "another name of the same function has the hook";
    case Refusal::overlaps:
      return "its first instructions reach into another hook";
  }
  return "unknown";
}

std::vector<PlannedHook> plan_hooks(const Image& image, std::span<const HookRequest> requests) {
  std::vector<PlannedHook> hooks;
  hooks.reserve(requests.size());
  const Planner planner(image);
  for (const HookRequest& request : requests) {
    PlannedHook hook{.request = request};
    hook.refusal = planner.plan(request, &hook.site);
    hooks.push_back(hook);
  }
  refuse_shared_bytes(&hooks);
  refuse_branch_targets(image, &hooks);
  return hooks;
}

std::vector<HookRequest> catalogue_requests(const Image& image) {
  std::vector<HookRequest> requests;
  for (size_t i = 0; i < kCatalogueSize; ++i) {
    const Image::Export* exported = image.find_export(kCatalogue[i].symbol);
    if (exported != nullptr && !exported->indirect)
      requests.push_back({exported->offset, static_cast<uint16_t>(i)});
  }
  return requests;
}

}  // namespace diogenes
