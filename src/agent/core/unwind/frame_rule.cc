#include "agent/core/unwind/frame_rule.h"

#include <cstring>

#include "agent/core/recording/module_map.h"

// Of libgcc: the entry of `.eh_frame` that covers an address (unwind-dw2-fde.h).
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;  // where the entry's function begins
};
extern "C" const void* _Unwind_Find_FDE(void* address, dwarf_eh_bases* bases);

namespace diogenes::agent {

namespace {

constexpr uint64_t kRbp = 6, kRsp = 7, kReturnAddress = 16;

// `.eh_frame` is mapped whole and was made by the linker, so it is not checked for its end as a file would
// be.
class Bytes {
 public:
  Bytes(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}
  bool left() const { return at_ < end_; }
  const uint8_t* at() const { return at_; }
  void skip(uint64_t bytes) { at_ = bytes < static_cast<uint64_t>(end_ - at_) ? at_ + bytes : end_; }

  template <typename T>
  T fixed() {
    T value{};
    if (at_ + sizeof value <= end_) memcpy(&value, at_, sizeof value);
    skip(sizeof value);
    return value;
  }
  uint64_t leb() { return leb(nullptr); }
  int64_t signed_leb() {
    unsigned bits = 0;
    uint64_t value = leb(&bits);
    if (bits < 64 && value >> (bits - 1) & 1) value |= ~uint64_t{0} << bits;
    return static_cast<int64_t>(value);
  }

 private:
  uint64_t leb(unsigned* bits) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (uint8_t byte = 0x80; (byte & 0x80) && left(); shift += 7) {
      byte = fixed<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    }
    if (bits) *bits = shift ? shift : 64;
    return value;
  }

  const uint8_t *at_, *end_;
};

// The part of an entry behind its length.
Bytes entry_at(const uint8_t* entry) {
  uint32_t length;
  memcpy(&length, entry, sizeof length);
  return {entry + sizeof length, entry + sizeof length + length};
}

struct CommonEntry {
  bool known = false;  // only what is understood
  uint64_t code_factor = 0;
  int64_t data_factor = 0;
  unsigned address_bytes = 8;
  Bytes program{nullptr, nullptr};
};

CommonEntry read_common_entry(const uint8_t* entry) {
  CommonEntry common;
  Bytes bytes = entry_at(entry);
  bytes.skip(4);  // zero: this is a common entry
  const auto version = bytes.fixed<uint8_t>();
  const auto* letters = reinterpret_cast<const char*>(bytes.at());
  bytes.skip(strlen(letters) + 1);
  common.code_factor = bytes.leb();
  common.data_factor = bytes.signed_leb();
  const uint64_t return_register = version == 1 ? bytes.fixed<uint8_t>() : bytes.leb();
  if (return_register != kReturnAddress || letters[0] != 'z') return common;
  const uint64_t augmentation = bytes.leb();
  Bytes program = bytes;
  program.skip(augmentation);
  common.program = program;
  for (++letters; *letters; ++letters) {
    if (*letters == 'S') return common;  // a signal's frame
    if (*letters == 'B') continue;
    const auto encoding = bytes.fixed<uint8_t>();
    switch (encoding & 0x07) {  // DW_EH_PE_absptr, udata2, udata4, udata8 and their signed ones
      case 0x00:
      case 0x04:
        common.address_bytes = 8;
        break;
      case 0x02:
        common.address_bytes = 2;
        break;
      case 0x03:
        common.address_bytes = 4;
        break;
      default:
        return common;
    }
    if (*letters == 'P') bytes.skip(common.address_bytes);
  }
  common.known = true;
  return common;
}

// What the program of an entry has said by some address.
struct Row {
  uint64_t base = kRsp;  // the register that the CFA is counted from
  int64_t cfa = 0;
  bool cfa_is_stored = false;  // at that place
  FrameRule::Rbp rbp = FrameRule::Rbp::kept;
  int64_t rbp_offset = 0;
  bool ended = false;  // there is no caller
  bool odd = false;    // a FrameRule cannot say it

  FrameRule rule() const {
    using Cfa = FrameRule::Cfa;
    const bool fits = cfa == static_cast<int32_t>(cfa) && rbp_offset == static_cast<int16_t>(rbp_offset);
    if (ended) return {.kind = Cfa::last};
    if (odd || !fits || (base != kRsp && base != kRbp) || (cfa_is_stored && base != kRbp)) return {};
    return {.kind = cfa_is_stored  ? Cfa::stored_at_rbp
                    : base == kRsp ? Cfa::from_rsp
                                   : Cfa::from_rbp,
            .rbp = rbp,
            .rbp_offset = static_cast<int16_t>(rbp_offset),
            .cfa = static_cast<int32_t>(cfa)};
  }
};

// An expression that is a place at rbp plus a number, or with `load` the word there.
bool is_at_rbp(Bytes expression, bool load, int64_t* offset) {
  constexpr uint8_t kRbpPlus = 0x70 + kRbp, kLoad = 0x06;
  if (expression.fixed<uint8_t>() != kRbpPlus) return false;
  *offset = expression.signed_leb();
  return (!load || expression.fixed<uint8_t>() == kLoad) && !expression.left();
}

class Program {
 public:
  Program(const CommonEntry& common, uint64_t function, uint64_t address)
      : common_(common), location_(function), address_(address) {}

  // Runs until it speaks of what lies behind the address. `initial`: what the common entry says.
  void run(Bytes bytes, const Row& initial) {
    row_ = initial;
    while (bytes.left() && location_ <= address_) step(bytes, initial);
  }
  const Row& row() const { return row_; }

 private:
  void step(Bytes& bytes, const Row& initial) {
    const auto code = bytes.fixed<uint8_t>();
    switch (const uint64_t low = code & 0x3f; code & 0xc0) {
      case 0x40:
        return advance(low);
      case 0x80:
        return saved(low, common_.data_factor * static_cast<int64_t>(bytes.leb()));
      case 0xc0:
        return restore(low, initial);
    }
    switch (code) {
      case 0x00:  // nop
        return;
      case 0x02:  // advance_loc1, 2, 4
        return advance(bytes.fixed<uint8_t>());
      case 0x03:
        return advance(bytes.fixed<uint16_t>());
      case 0x04:
        return advance(bytes.fixed<uint32_t>());
      case 0x05: {  // offset_extended
        const uint64_t which = bytes.leb();
        return saved(which, common_.data_factor * static_cast<int64_t>(bytes.leb()));
      }
      case 0x06:  // restore_extended
        return restore(bytes.leb(), initial);
      case 0x07:  // undefined
        row_.ended |= bytes.leb() == kReturnAddress;
        return;
      case 0x08:  // same_value
        return kept(bytes.leb());
      case 0x0a:  // remember_state
        if (depth_ < kDepth)
          stack_[depth_++] = row_;
        else
          row_.odd = true;
        return;
      case 0x0b:  // restore_state
        if (depth_ > 0)
          row_ = stack_[--depth_];
        else
          row_.odd = true;
        return;
      case 0x0c:  // def_cfa
        row_.base = bytes.leb();
        return cfa(static_cast<int64_t>(bytes.leb()));
      case 0x0d:  // def_cfa_register
        row_.base = bytes.leb();
        return cfa(row_.cfa);
      case 0x0e:  // def_cfa_offset
        return cfa(static_cast<int64_t>(bytes.leb()));
      case 0x0f:  // def_cfa_expression
        row_.base = kRbp;
        row_.cfa_is_stored = true;
        row_.odd |= !is_at_rbp(expression(bytes), true, &row_.cfa);
        return;
      case 0x10: {  // expression
        const uint64_t which = bytes.leb();
        const Bytes place = expression(bytes);
        if (!matters(which)) return;
        row_.rbp = FrameRule::Rbp::stored_at_rbp;
        row_.odd |= which != kRbp || !is_at_rbp(place, false, &row_.rbp_offset);
        return;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t which = bytes.leb();
        return saved(which, common_.data_factor * bytes.signed_leb());
      }
      case 0x12:  // def_cfa_sf
        row_.base = bytes.leb();
        return cfa(common_.data_factor * bytes.signed_leb());
      case 0x13:  // def_cfa_offset_sf
        return cfa(common_.data_factor * bytes.signed_leb());
      case 0x16:  // val_expression
        row_.odd |= matters(bytes.leb());
        expression(bytes);
        return;
      case 0x2e:  // GNU_args_size
        bytes.leb();
        return;
      default:  // among them: a register kept in another one
        row_.odd = true;
        bytes.skip(~uint64_t{0});
    }
  }

  static bool matters(uint64_t which) { return which == kRbp || which == kRsp || which == kReturnAddress; }
  static Bytes expression(Bytes& bytes) {
    const uint64_t length = bytes.leb();
    const uint8_t* begin = bytes.at();
    bytes.skip(length);
    return {begin, bytes.at()};
  }
  void advance(uint64_t factor) { location_ += factor * common_.code_factor; }
  void cfa(int64_t offset) {
    row_.cfa = offset;
    row_.cfa_is_stored = false;
  }
  void saved(uint64_t which, int64_t offset) {
    if (which == kRbp) {
      row_.rbp = FrameRule::Rbp::stored_at_cfa;
      row_.rbp_offset = offset;
    } else if (which == kReturnAddress) {
      row_.odd |= offset != -8;
    } else {
      row_.odd |= which == kRsp;
    }
  }
  void kept(uint64_t which) {
    if (which == kRbp) row_.rbp = FrameRule::Rbp::kept;
    row_.odd |= which == kRsp || which == kReturnAddress;
  }
  void restore(uint64_t which, const Row& initial) {
    if (which != kRbp) return;
    row_.rbp = initial.rbp;
    row_.rbp_offset = initial.rbp_offset;
  }

  static constexpr int kDepth = 8;
  const CommonEntry& common_;
  uint64_t location_, address_;
  Row row_, stack_[kDepth];
  int depth_ = 0;
};

}  // namespace

FrameRule read_rule(uintptr_t address) {
  dwarf_eh_bases bases{};
  const auto* entry = static_cast<const uint8_t*>(_Unwind_Find_FDE(reinterpret_cast<void*>(address), &bases));
  if (!entry) return {.kind = FrameRule::Cfa::unlisted};
  Bytes bytes = entry_at(entry);
  const uint8_t* here = bytes.at();
  const CommonEntry common = read_common_entry(here - bytes.fixed<int32_t>());
  if (!common.known) return {};
  bytes.skip(2 * common.address_bytes);  // where the function lies, which libgcc has read
  bytes.skip(bytes.leb());               // augmentation: the language's own
  const auto function = reinterpret_cast<uint64_t>(bases.function);
  Program first(common, address, address), program(common, function, address);
  first.run(common.program, {});
  program.run(bytes, first.row());
  return program.row().rule();
}

constinit RuleCache::Entry RuleCache::entries_[];

RuleCache::RuleCache() : generation_(static_cast<uint64_t>(module_generation()) << 48) {}

FrameRule RuleCache::learn(uintptr_t return_address) const {
  const FrameRule rule = read_rule(return_address - 1);
  Entry& entry = entry_of(return_address);
  // One writer at a time; who comes second leaves it.
  constexpr uint64_t kChanging = 1;
  uint64_t before = entry.key.load(std::memory_order_relaxed);
  if (before == kChanging || !entry.key.compare_exchange_strong(before, kChanging, std::memory_order_acquire))
    return rule;
  entry.rule.store(std::bit_cast<uint64_t>(rule), std::memory_order_release);
  entry.key.store(return_address | generation_, std::memory_order_release);
  return rule;
}

}  // namespace diogenes::agent
