#include "analysis/cubins/gpu_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/read_bytes.h"

namespace diogenes {

// Reads units one after the other.
class GpuLineReader {
 public:
  GpuLineReader(const CubinFile& file, const CubinSymbols& symbols, GpuLines& out)
      : symbols_(symbols), out_(out), bytes_(file.section(std::string_view(".debug_line")).contents) {
    names_ = file.section(std::string_view(".debug_str")).contents;
    text_index({});
    relocations_ = read_cubin_relocations(
        file, [](const CubinFile::Section& section) { return section.name == ".debug_line"; });
  }

  void read() {
    for (size_t position = 0; position < bytes_.size();) {
      uint32_t length = 0;
      if (!read_number(bytes_, &position, &length) || length > bytes_.size() - position) {
        out_.complete_ = false;
        break;
      }
      if (!read_unit(position, position + length)) out_.complete_ = false;
      position += length;
    }
    read_names();
    sort_places();
  }

 private:
  static constexpr uint32_t kNone = GpuLines::kNone;
  static constexpr size_t kMostPathBytes = 4096;

  // Rows of a unit, and the last byte of .debug_str that they use, as they count.
  struct Unit {
    size_t first_row, last_row;
    uint32_t furthest_name = kNone;
  };

  // What DWARF calls the registers of the line number machine.
  struct Registers {
    uint64_t address = 0;
    uint32_t section = kNone;
    uint32_t file = 1, line = 1;
    uint32_t call_site = kNone, name = kNone;
  };

  // False: part of it is not read.
  bool read_unit(size_t position, size_t end) {
    bytes_of_unit_ = bytes_.first(end);
    uint16_t version = 0;
    uint32_t header_bytes = 0;
    if (!take(&position, &version) || version != 2 || !take(&position, &header_bytes)) return false;
    const size_t program = position + header_bytes;
    uint8_t default_statement = 0, first_special = 0;
    if (program > end || !take(&position, &step_) || !take(&position, &default_statement) ||
        !take(&position, &line_base_) || !take(&position, &line_range_) || !take(&position, &first_special) ||
        line_range_ == 0 || first_special == 0)
      return false;
    first_special_ = first_special;
    operand_counts_.assign(first_special, 0);
    for (uint8_t i = 1; i < first_special; ++i)
      if (!take(&position, &operand_counts_[i])) return false;
    if (!read_files(position)) return false;
    units_.push_back({out_.rows_.size(), 0});
    start_sequence();
    const bool whole = run(program);
    units_.back().last_row = out_.rows_.size();
    return whole;
  }

  template <typename T>
  bool take(size_t* position, T* value) {
    return read_number(bytes_of_unit_, position, value);
  }
  bool take_leb(size_t* position, uint64_t* value) {
    return read_leb(bytes_of_unit_, position, false, value);
  }
  bool take_text(size_t* position, std::string_view* text) {
    *text = CubinFile::text_at(bytes_of_unit_, *position);
    *position += text->size();
    if (*position >= bytes_of_unit_.size() || bytes_of_unit_[*position] != 0) return false;
    ++*position;
    return true;
  }

  bool read_files(size_t position) {
    std::vector<std::string_view> folders{{}};
    for (std::string_view folder; take_text(&position, &folder);) {
      if (folder.empty()) break;
      folders.push_back(folder);
    }
    files_of_unit_.assign(1, 0);
    for (std::string_view name; take_text(&position, &name);) {
      if (name.empty()) return true;
      uint64_t folder = 0, ignored = 0;
      if (!take_leb(&position, &folder) || !take_leb(&position, &ignored) || !take_leb(&position, &ignored))
        return false;
      const std::string_view in = folder < folders.size() && !name.starts_with('/') ? folders[folder] : "";
      // Not even joined where there is no room for it.
      const bool is_read = in.size() + name.size() <= std::min(kMostPathBytes, text_bytes_left_);
      out_.complete_ &= is_read;
      files_of_unit_.push_back(
          is_read ? text_index(in.empty() ? std::string(name) : std::string(in).append("/").append(name))
                  : 0);
    }
    return false;
  }

  uint32_t text_index(std::string_view text) {
    if (text.size() > text_bytes_left_) {
      out_.complete_ = false;
      return 0;
    }
    text_bytes_left_ -= text.size();
    if (const auto found = indices_.find(text); found != indices_.end()) return found->second;
    const auto index = static_cast<uint32_t>(out_.texts_.size());
    indices_[out_.texts_.emplace_back(text)] = index;
    return index;
  }

  void start_sequence() {
    now_ = {};
    first_of_sequence_ = out_.rows_.size();
  }

  void add_place(uint32_t row) {
    if (now_.section == kNone) return;
    if (out_.places_.size() < GpuLines::kMostRows)
      out_.places_.push_back({now_.section, row, now_.address});
    else
      out_.complete_ = false;
  }

  bool add_row() {
    const GpuLines::Row row{now_.file < files_of_unit_.size() ? files_of_unit_[now_.file] : 0,
                            now_.line <= INT32_MAX ? now_.line : 0, now_.call_site, now_.name};
    const bool is_first = out_.rows_.size() == first_of_sequence_;
    if (!is_first && now_.address == last_address_ && row == out_.rows_.back()) return true;
    if (out_.rows_.size() >= GpuLines::kMostRows) return false;
    add_place(static_cast<uint32_t>(out_.rows_.size()));
    out_.rows_.push_back(row);
    last_address_ = now_.address;
    return true;
  }

  // To the end of the unit. False: not to the end.
  bool run(size_t position) {
    while (position < bytes_of_unit_.size()) {
      uint8_t operation = 0;
      take(&position, &operation);
      if (operation >= first_special_) {
        const uint32_t special = operation - uint32_t{first_special_};
        now_.address += uint64_t{step_} * (special / line_range_);
        now_.line += static_cast<uint32_t>(line_base_ + static_cast<int>(special % line_range_));
        if (!add_row()) return false;
      } else if (!(operation == 0 ? run_extended(&position) : run_standard(operation, &position))) {
        return false;
      }
    }
    return true;
  }

  bool run_standard(uint8_t operation, size_t* position) {
    uint64_t operand = 0;
    uint16_t fixed = 0;
    switch (operation) {
      case 1:  // copy
        return add_row();
      case 2:  // advance the address
        if (!take_leb(position, &operand)) return false;
        now_.address += step_ * operand;
        return true;
      case 3:  // advance the line
        if (!read_leb(bytes_of_unit_, position, true, &operand)) return false;
        now_.line += static_cast<uint32_t>(operand);
        return true;
      case 4:  // set the file
        if (!take_leb(position, &operand)) return false;
        now_.file = static_cast<uint32_t>(std::min<uint64_t>(operand, kNone));
        return true;
      case 8:  // advance the address as the last special operation does
        now_.address += uint64_t{step_} * ((255 - uint32_t{first_special_}) / line_range_);
        return true;
      case 9:  // advance the address by a number of fixed size
        if (!take(position, &fixed)) return false;
        now_.address += fixed;
        return true;
      default:  // columns, statements, blocks
        for (uint8_t i = 0; i < operand_counts_[operation]; ++i)
          if (!take_leb(position, &operand)) return false;
        return true;
    }
  }

  bool run_extended(size_t* position) {
    uint64_t length = 0;
    if (!take_leb(position, &length) || length == 0 || length > bytes_of_unit_.size() - *position)
      return false;
    const size_t end = *position + length;
    const uint8_t operation = bytes_of_unit_[(*position)++];
    if (operation == 0x01) {  // the sequence ends
      add_place(kNone);
      start_sequence();
    } else if (operation == 0x02) {
      set_address(*position, length - 1);
    } else if (operation == 0x90) {
      uint64_t row = 0, name = 0;
      if (!take_leb(position, &row) || !take_leb(position, &name)) return false;
      set_inlined(row, name);
    }
    *position = end;
    return true;
  }

  void set_address(size_t position, uint64_t size) {
    now_.section = kNone;
    const auto found = std::lower_bound(
        relocations_.begin(), relocations_.end(), position,
        [](const CubinRelocation& relocation, size_t wanted) { return relocation.offset < wanted; });
    if (found == relocations_.end() || found->offset != position || size != sizeof now_.address) return;
    const CubinSymbol symbol = symbols_.at(found->symbol);
    if (symbol.section == SHN_UNDEF) return;
    now_.address = 0;
    take(&position, &now_.address);
    now_.address += symbol.value + found->addend;
    now_.section = symbol.section;
  }

  void set_inlined(uint64_t row, uint64_t name) {
    now_.call_site = now_.name = kNone;
    if (row == 0 || row > out_.rows_.size() - first_of_sequence_) return;
    now_.call_site = static_cast<uint32_t>(first_of_sequence_ + row - 1);
    if (name >= names_.size()) return;
    now_.name = static_cast<uint32_t>(name);
    uint32_t& furthest = units_.back().furthest_name;
    furthest = furthest == kNone ? now_.name : std::max(furthest, now_.name);
  }

  // Finds out where each unit's part of .debug_str starts, and reads the names.
  void read_names() {
    std::vector<std::pair<const Unit*, uint64_t>> parts;
    uint64_t base = 0;
    for (const Unit& unit : units_) {
      if (unit.furthest_name == kNone) continue;
      parts.push_back({&unit, base});
      base += uint64_t{unit.furthest_name} + 1;
      base += CubinFile::text_at(names_, base - 1).size();
    }
    out_.names_known_ = parts.size() <= 1 || base == names_.size();
    std::unordered_map<uint64_t, uint32_t> read;  // by where it starts
    for (const auto& [unit, begin] : parts)
      for (size_t i = unit->first_row; i < unit->last_row; ++i) {
        uint32_t& name = out_.rows_[i].name;
        if (name == kNone) continue;
        const auto [known, is_new] = read.try_emplace(begin + name, kNone);
        if (is_new && (out_.names_known_ || begin == 0) && text_bytes_left_ > 0)
          known->second = text_index(CubinFile::text_at(names_, begin + name));
        name = known->second;
      }
  }

  void sort_places() {
    const auto key = [](const GpuLines::Place& place) { return std::tie(place.section, place.offset); };
    // Where one sequence ends and another starts, the start counts.
    std::stable_sort(out_.places_.begin(), out_.places_.end(),
                     [&](const GpuLines::Place& one, const GpuLines::Place& other) {
                       return key(one) != key(other) ? key(one) < key(other)
                                                     : (one.row == kNone && other.row != kNone);
                     });
    size_t kept = 0;
    for (const GpuLines::Place& place : out_.places_) {
      if (kept > 0 && key(out_.places_[kept - 1]) == key(place)) --kept;
      out_.places_[kept++] = place;
    }
    out_.places_.resize(kept);
  }

  const CubinSymbols& symbols_;
  GpuLines& out_;
  std::span<const uint8_t> bytes_, bytes_of_unit_;  // the latter from where .debug_line starts, too
  std::vector<CubinRelocation> relocations_;
  uint8_t step_ = 0, line_range_ = 0, first_special_ = 0;
  int8_t line_base_ = 0;
  std::vector<uint8_t> operand_counts_;  // of standard operations
  std::vector<uint32_t> files_of_unit_;
  std::span<const uint8_t> names_;
  std::map<std::string_view, uint32_t> indices_;  // of texts
  size_t text_bytes_left_ = GpuLines::kMostTextBytes, first_of_sequence_ = 0;
  uint64_t last_address_ = 0;  // of the last row
  std::vector<Unit> units_;
  Registers now_;
};

GpuLines::GpuLines(const CubinFile& file, const CubinSymbols& symbols) {
  GpuLineReader(file, symbols, *this).read();
}

std::vector<GpuFrame> GpuLines::frames_at(uint32_t section, uint64_t offset,
                                          std::string_view function) const {
  const auto next = std::upper_bound(
      places_.begin(), places_.end(), std::tie(section, offset),
      [](const auto& wanted, const Place& place) { return wanted < std::tie(place.section, place.offset); });
  if (next == places_.begin() || std::prev(next)->section != section || std::prev(next)->row == kNone)
    return {};
  std::vector<GpuFrame> frames;
  for (uint32_t row = std::prev(next)->row; row != kNone && frames.size() < kMostFrames;
       row = rows_[row].call_site) {
    const Row& at = rows_[row];
    const std::string_view inlined = texts_[at.name == kNone ? 0 : at.name];
    frames.push_back({at.call_site == kNone ? function : inlined, texts_[at.file], at.line});
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace diogenes
