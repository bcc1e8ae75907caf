// Tables in a cubin: its symbols, and what its relocations name. In: a cubin's sections (driver/cubin_file.h). Out: entries in
// the order of the file; views point into it. Source: the ELF specification; relocation types: files that nvcc 13 wrote.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/cubin_file.h"

namespace diogenes {

struct CubinSymbol {
  uint32_t name = 0;  // in CubinSymbols::names
  uint8_t type = 0;   // STT_FUNC: a function
  uint8_t other = 0;
  uint32_t section = 0;  // SHN_UNDEF: in no section of this file
  uint64_t value = 0;    // bytes from where the section starts
  uint64_t size = 0;     // bytes
};

struct CubinSymbols {
  std::span<const uint8_t> names;
  std::vector<CubinSymbol> all;

  // A symbol that is not there is one without a name, in no section.
  CubinSymbol at(uint32_t index) const { return index < all.size() ? all[index] : CubinSymbol{}; }
  std::string_view name(const CubinSymbol& symbol) const { return CubinFile::text_at(names, symbol.name); }
};
CubinSymbols read_cubin_symbols(const CubinFile& file);

struct CubinRelocation {
  uint32_t section = 0;  // whose contents it changes
  uint64_t offset = 0;   // there
  uint32_t type = 0;
  uint32_t symbol = 0;
  uint64_t addend = 0;  // 0 where it is in the contents
};

// Which function a call instruction calls: before sm_90, and from then on. Others name data, or halves of addresses.
inline constexpr uint32_t kOlderCallRelocation = 0x3a, kCallRelocation = 0x4b;

// Of all sections for which `wanted(section)` is true; sorted by section and offset.
std::vector<CubinRelocation> read_cubin_relocations(const CubinFile& file,
                                                    bool (*wanted)(const CubinFile::Section&));

}  // namespace diogenes
