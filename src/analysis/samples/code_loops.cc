#include "analysis/samples/code_loops.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "analysis/samples/natural_loops.h"
#include "driver/hooking/decoded_instruction.h"

namespace diogenes {
namespace {

constexpr uint64_t kMostFunctionBytes = 1 << 20;
constexpr size_t kMostInstructions = 200'000;
// Of tables, in one function: instructions and entries that are read for all of them; instructions from the comparison that
// guards a table to the jump; entries of one.
constexpr int kMostTableSteps = 200'000;
constexpr size_t kGuardDistance = 24;
constexpr uint64_t kMostTableEntries = 4096;

// What goes on behind an instruction: the next one, it or a target, a target, targets of a table, nothing.
enum class Onward : uint8_t { next, branch, jump, table, nothing };

struct CodeStep {
  uint32_t begin, end;  // in the function
  Onward onward;
  uint32_t target;  // in the function, or kOutside
};
constexpr uint32_t kOutside = UINT32_MAX;

Onward onward_of(const Instruction& instruction) {
  if (instruction.is_relative_jump())
    return instruction.decoded.meta.category == ZYDIS_CATEGORY_COND_BR ? Onward::branch : Onward::jump;
  if (instruction.decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR) return Onward::table;
  return instruction.ends_path() || instruction.is_trap() ? Onward::nothing : Onward::next;
}

ZydisRegister whole(ZydisRegister part) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
}

// One function. Positions are offsets from its begin, as 32 bits; `begin` is an offset in the image.
class FunctionCode {
 public:
  FunctionCode(const Image& image, uint64_t begin, std::span<const uint8_t> code)
      : image_(image), begin_(begin), code_(code) {}

  std::vector<CodeLoop> loops() {
    if (!decode()) return {};
    find_tables();
    find_blocks();
    std::vector<CodeLoop> out;
    for (const NaturalLoop& loop : natural_loops(successors())) {
      CodeLoop& found = out.emplace_back();
      for (const uint32_t node : loop.nodes) {
        const AddressRange block = block_at(node);
        if (!found.blocks.empty() && found.blocks.back().end == block.begin)
          found.blocks.back().end = block.end;
        else
          found.blocks.push_back(block);
      }
      found.head = block_at(loop.head).begin;
      found.lowest = found.blocks.front().begin;
      found.highest = found.blocks.back().end;
      found.depth = loop.depth;
    }
    return out;
  }

 private:
  bool decode() {
    Instruction instruction;
    for (size_t at = 0, length = 1; at < code_.size(); at += length) {
      if (steps_.size() == kMostInstructions) return false;
      const bool decoded = decoder_.decode_quickly(code_.subspan(at), &instruction);
      length = decoded ? instruction.length() : 1;
      CodeStep step{static_cast<uint32_t>(at), static_cast<uint32_t>(at + length), Onward::nothing, kOutside};
      if (decoded) step.onward = onward_of(instruction);
      if (step.onward == Onward::branch || step.onward == Onward::jump)
        if (const uint64_t target = instruction.branch_target(at); target < code_.size())
          step.target = static_cast<uint32_t>(target);
      steps_.push_back(step);
    }
    return true;
  }

  // The instruction that begins there, or steps_.size().
  size_t step_at(uint64_t position) const {
    const auto found =
        std::lower_bound(steps_.begin(), steps_.end(), position,
                         [](const CodeStep& step, uint64_t wanted) { return step.begin < wanted; });
    return static_cast<size_t>((found != steps_.end() && found->begin == position ? found : steps_.end()) -
                               steps_.begin());
  }

  bool read_step(size_t index, Instruction* out) {
    const CodeStep& step = steps_[index];
    return --table_steps_left_ > 0 && decoder_.decode(code_.subspan(step.begin, step.end - step.begin), out);
  }

  // Steps from which the code goes on to this one, tables aside.
  std::vector<size_t> before(size_t index) const {
    std::vector<size_t> found;
    if (index > 0 && (steps_[index - 1].onward == Onward::next || steps_[index - 1].onward == Onward::branch))
      found.push_back(index - 1);
    for (auto at = std::lower_bound(sources_.begin(), sources_.end(), std::pair(index, size_t{0}));
         at != sources_.end() && at->first == index; ++at)
      found.push_back(at->second);
    return found;
  }

  // The one instruction that sets the register that step `index` reads, on all paths that are known.
  std::optional<size_t> set_by(size_t index, ZydisRegister wanted, Instruction* out) {
    const auto writes = [&](const ZydisDecodedOperand& operand) {
      return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
             (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && whole(operand.reg.value) == whole(wanted);
    };
    std::optional<size_t> found;
    std::unordered_set<size_t> seen;
    std::vector<size_t> open = before(index);
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (!read_step(at, out)) return std::nullopt;
      if (!std::any_of(out->operands, out->operands + out->decoded.operand_count_visible, writes)) {
        const std::vector<size_t> more = before(at);
        open.insert(open.end(), more.begin(), more.end());
      } else if (std::exchange(found, at).value_or(at) != at) {
        return std::nullopt;
      }
    }
    if (found && !read_step(*found, out)) return std::nullopt;
    return found;
  }

  // How many entries the table of the jump at `index` has: `cmp x, 6` and `ja` before it say 7. 0: not known.
  uint64_t entries_of(size_t index) {
    bool guarded = false, last_included = false;
    Instruction instruction;
    for (size_t distance = 0; distance < kGuardDistance; ++distance) {
      const std::vector<size_t> from = before(index);
      if (from.size() != 1 || !read_step(from[0], &instruction)) return 0;
      const bool jumped = steps_[from[0]].end != steps_[index].begin;
      index = from[0];
      const ZydisMnemonic name = instruction.decoded.mnemonic;
      if (!guarded) {
        last_included = name == (jumped ? ZYDIS_MNEMONIC_JBE : ZYDIS_MNEMONIC_JNBE);
        guarded = last_included || name == (jumped ? ZYDIS_MNEMONIC_JB : ZYDIS_MNEMONIC_JNB);
      } else if (name == ZYDIS_MNEMONIC_CMP || name == ZYDIS_MNEMONIC_SUB) {
        const ZydisDecodedOperand& limit = instruction.operands[1];
        if (limit.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return 0;
        const uint64_t last = limit.imm.value.u & 0xffff'ffff;
        return last < kMostTableEntries ? last + (last_included ? 1 : 0) : 0;
      }
    }
    return 0;
  }

  // Virtual address of the table, and whether its entries are addresses (of 64 bits) or relative to it (of 32 bits).
  struct Table {
    uint64_t address;
    bool absolute;
  };
  static std::optional<Table> absolute_table(const ZydisDecodedOperand& from) {
    if (from.type != ZYDIS_OPERAND_TYPE_MEMORY || from.mem.base != ZYDIS_REGISTER_NONE || from.mem.scale != 8)
      return std::nullopt;
    return Table{static_cast<uint64_t>(from.mem.disp.value), true};
  }
  // `jmp [table + 8 * x]`, or that in two instructions. `add a, b; jmp a`, where either was set by `lea [rip + table]`.
  std::optional<Table> table_of(size_t jump) {
    Instruction instruction, address;
    if (!read_step(jump, &instruction)) return std::nullopt;
    if (instruction.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
      return absolute_table(instruction.operands[0]);
    const auto set = set_by(jump, instruction.operands[0].reg.value, &instruction);
    if (!set) return std::nullopt;
    if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV) return absolute_table(instruction.operands[1]);
    if (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_ADD) return std::nullopt;
    for (const size_t i : {1, 0}) {
      if (instruction.operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
      const auto at = set_by(*set, instruction.operands[i].reg.value, &address);
      if (at && address.decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
          address.operands[1].mem.base == ZYDIS_REGISTER_RIP)
        return Table{image_.image_base() + begin_ + steps_[*at].end +
                         static_cast<uint64_t>(address.operands[1].mem.disp.value),
                     false};
    }
    return std::nullopt;
  }

  void find_tables() {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].target != kOutside) sources_.push_back({step_at(steps_[i].target), i});
    std::sort(sources_.begin(), sources_.end());
    for (size_t jump = 0; jump < steps_.size() && table_steps_left_ > 0; ++jump)
      if (steps_[jump].onward == Onward::table) tables_[jump] = targets_of(jump);
  }

  // Steps, sorted. None: the table is not known, or one of its entries leads to where no instruction begins.
  std::vector<size_t> targets_of(size_t jump) {
    const std::optional<Table> table = table_of(jump);
    const uint64_t count = table ? entries_of(jump) : 0, size = table && table->absolute ? 8 : 4;
    if (count == 0) return {};
    const auto entries = image_.bytes_at(table->address - image_.image_base(), count * size);
    if (entries.size() != count * size) return {};
    table_steps_left_ -= static_cast<int>(count);
    std::vector<size_t> targets;
    for (uint64_t i = 0; i < count; ++i) {
      int32_t distance = 0;
      uint64_t target = 0;
      memcpy(table->absolute ? static_cast<void*>(&target) : &distance, entries.data() + i * size, size);
      if (!table->absolute) target = table->address + static_cast<uint64_t>(int64_t{distance});
      target -= image_.image_base() + begin_;
      if (target >= code_.size()) continue;  // a way out
      targets.push_back(step_at(target));
      if (targets.back() == steps_.size()) return {};
    }
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    return targets;
  }

  void find_blocks() {
    std::vector<bool> begins(steps_.size() + 1);
    begins[0] = true;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].onward != Onward::next) begins[i + 1] = true;
      if (steps_[i].target != kOutside) begins[step_at(steps_[i].target)] = true;
    }
    for (const auto& [jump, targets] : tables_)
      for (const size_t target : targets) begins[target] = true;
    for (size_t i = 0; i < steps_.size(); ++i)
      if (begins[i]) blocks_.push_back(i);
  }

  uint32_t block_of(size_t step) const {
    return static_cast<uint32_t>(std::upper_bound(blocks_.begin(), blocks_.end(), step) - blocks_.begin() -
                                 1);
  }
  size_t end_of(size_t block) const {
    return block + 1 < blocks_.size() ? blocks_[block + 1] : steps_.size();
  }
  AddressRange block_at(uint32_t block) const {
    const uint64_t base = image_.image_base() + begin_;
    return {base + steps_[blocks_[block]].begin, base + steps_[end_of(block) - 1].end};
  }

  std::vector<std::vector<uint32_t>> successors() const {
    std::vector<std::vector<uint32_t>> out(blocks_.size());
    for (uint32_t block = 0; block < blocks_.size(); ++block) {
      const CodeStep& last = steps_[end_of(block) - 1];
      if ((last.onward == Onward::next || last.onward == Onward::branch) && block + 1 < blocks_.size())
        out[block].push_back(block + 1);
      if (const size_t target = last.target == kOutside ? steps_.size() : step_at(last.target);
          target < steps_.size())
        out[block].push_back(block_of(target));
      if (const auto table = tables_.find(end_of(block) - 1); table != tables_.end())
        for (const size_t target : table->second) out[block].push_back(block_of(target));
    }
    return out;
  }

  const Image& image_;
  uint64_t begin_;
  std::span<const uint8_t> code_;
  InstructionDecoder decoder_;
  std::vector<CodeStep> steps_;  // from one end to the other; a byte that is no code is one, too
  std::vector<std::pair<size_t, size_t>> sources_;  // of direct branches: target, branch
  std::map<size_t, std::vector<size_t>> tables_;    // by step
  std::vector<size_t> blocks_;                      // their first steps
  int table_steps_left_ = kMostTableSteps;
};

}  // namespace

bool CodeLoop::contains(uint64_t address) const {
  const auto next =
      std::upper_bound(blocks.begin(), blocks.end(), address,
                       [](uint64_t wanted, const AddressRange& block) { return wanted < block.begin; });
  return next != blocks.begin() && std::prev(next)->contains(address);
}

CodeLoops::CodeLoops(const std::filesystem::path& file, const BuildId& build_id) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return;
  Result<Image> image = Image::open(file);
  if (image && (build_id.length == 0 || image->build_id() == build_id)) image_ = std::move(*image);
}

const CodeLoop* CodeLoops::innermost(uint64_t address) {
  if (!image_) return nullptr;
  const uint64_t offset = address - image_->image_base();
  const Image::Function* bounds = image_->containing_function(offset);
  if (!bounds) return nullptr;
  const auto [found, fresh] = loops_.try_emplace(bounds->offset);
  if (fresh && bounds->size <= kMostFunctionBytes) {
    const Image::Function* next =
        image_->function_after(bounds->offset);  // in a damaged file, it may lie within
    const uint64_t end = next ? std::min(next->offset, bounds->end()) : bounds->end();
    found->second =
        FunctionCode(*image_, bounds->offset, image_->bytes_at(bounds->offset, end - bounds->offset)).loops();
  }
  for (const CodeLoop& loop : found->second)
    if (loop.contains(address)) return &loop;
  return nullptr;
}

}  // namespace diogenes
