#include "analysis/cubins/cubin_tables.h"

#include <algorithm>
#include <tuple>

#include "base/read_bytes.h"

namespace diogenes {

CubinSymbols read_cubin_symbols(const CubinFile& file) {
  CubinSymbols symbols;
  const CubinFile::Section table = file.section(std::string_view(".symtab"));
  if (table.type != SHT_SYMTAB) return symbols;
  symbols.names = file.section(table.link).contents;
  Elf64_Sym entry{};
  symbols.all.reserve(table.contents.size() / sizeof entry);
  for (size_t position = 0; read_number(table.contents, &position, &entry);)
    symbols.all.push_back({entry.st_name, static_cast<uint8_t>(ELF64_ST_TYPE(entry.st_info)), entry.st_other,
                           entry.st_shndx, entry.st_value, entry.st_size});
  return symbols;
}

std::vector<CubinRelocation> read_cubin_relocations(const CubinFile& file,
                                                    bool (*wanted)(const CubinFile::Section&)) {
  std::vector<CubinRelocation> found;
  size_t bytes_left = CubinFile::kMostBytes;  // sections may lie in one another
  for (uint32_t i = 0; i < file.section_count(); ++i) {
    const CubinFile::Section section = file.section(i);
    if (section.type != SHT_REL && section.type != SHT_RELA) continue;
    if (section.contents.size() > bytes_left || !wanted(file.section(section.info))) continue;
    bytes_left -= section.contents.size();
    Elf64_Rela entry{};
    Elf64_Rel without_addend{};
    for (size_t position = 0;;) {
      if (section.type == SHT_RELA) {
        if (!read_number(section.contents, &position, &entry)) break;
      } else {
        if (!read_number(section.contents, &position, &without_addend)) break;
        entry = {without_addend.r_offset, without_addend.r_info, 0};
      }
      found.push_back({section.info, entry.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)),
                       static_cast<uint32_t>(ELF64_R_SYM(entry.r_info)),
                       static_cast<uint64_t>(entry.r_addend)});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const CubinRelocation& one, const CubinRelocation& other) {
    return std::tie(one.section, one.offset) < std::tie(other.section, other.offset);
  });
  return found;
}

}  // namespace diogenes
