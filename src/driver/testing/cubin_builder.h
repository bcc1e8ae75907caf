// Cubins as literals: sections, symbols and relocations are put together to the bytes of a file.
#pragma once
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace diogenes::testing {

class CubinBuilder {
 public:
  using Bytes = std::vector<uint8_t>;

  explicit CubinBuilder(int architecture, uint8_t abi_version = 8) {
    memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = ELFCLASS64;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_ident[EI_ABIVERSION] = abi_version;
    header_.e_machine = EM_CUDA;
    header_.e_flags = static_cast<uint32_t>(abi_version == 7 ? architecture | 0x500 : architecture << 8 | 4);
    header_.e_shentsize = sizeof(Elf64_Shdr);
    section("", SHT_NULL, {});
    symbol("", STT_NOTYPE, 0, 0, 0);
  }

  // Its number, which relocations and symbols use.
  uint32_t section(const std::string& name, uint32_t type, Bytes contents, uint32_t info = 0,
                   uint64_t flags = 0, uint32_t link = 0) {
    Elf64_Shdr one{};
    one.sh_name = text(section_names_, name);
    one.sh_type = type;
    one.sh_flags = flags;
    one.sh_info = info;
    one.sh_link = link;
    sections_.push_back({one, std::move(contents)});
    return static_cast<uint32_t>(sections_.size() - 1);
  }
  uint32_t code(const std::string& kernel, Bytes instructions) {
    return section(".text." + kernel, SHT_PROGBITS, std::move(instructions), 0, SHF_ALLOC | SHF_EXECINSTR);
  }

  uint32_t symbol(const std::string& name, uint8_t type, uint32_t section, uint64_t value, uint64_t size,
                  uint8_t other = 0) {
    const Elf64_Sym one{text(names_, name),
                        static_cast<uint8_t>(ELF64_ST_INFO(STB_LOCAL, type)),
                        other,
                        static_cast<uint16_t>(section),
                        value,
                        size};
    append(symbols_, one);
    return symbol_count_++;
  }
  uint32_t kernel(const std::string& name, uint32_t section, uint64_t size) {
    return symbol(name, STT_FUNC, section, 0, size, 0x10);
  }

  struct Relocation {
    uint64_t offset;
    uint32_t type, symbol;
    int64_t addend = 0;
  };
  void relocations(const std::string& of, uint32_t section_number, const std::vector<Relocation>& all) {
    Bytes contents;
    for (const Relocation& one : all)
      append(contents, Elf64_Rela{one.offset, ELF64_R_INFO(uint64_t{one.symbol}, one.type), one.addend});
    section(".rela" + of, SHT_RELA, std::move(contents), section_number);
  }

  // No more can be added.
  Bytes build() {
    const uint32_t strings = section(".strtab", SHT_STRTAB, names_);
    section(".symtab", SHT_SYMTAB, symbols_, 0, 0, strings);
    const uint32_t own = section(".shstrtab", SHT_STRTAB, {});
    sections_[own].contents = section_names_;
    header_.e_shstrndx = static_cast<uint16_t>(own);
    header_.e_shnum = static_cast<uint16_t>(sections_.size());
    Bytes out(sizeof header_);
    for (Section& one : sections_) {
      one.header.sh_offset = out.size();
      one.header.sh_size = one.contents.size();
      out.insert(out.end(), one.contents.begin(), one.contents.end());
    }
    header_.e_shoff = out.size();
    for (const Section& one : sections_) append(out, one.header);
    memcpy(out.data(), &header_, sizeof header_);
    return out;
  }

  template <typename T>
  static void append(Bytes& to, const T& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
  }

 private:
  struct Section {
    Elf64_Shdr header;
    Bytes contents;
  };

  static uint32_t text(Bytes& texts, const std::string& one) {
    const auto at = static_cast<uint32_t>(texts.size());
    texts.insert(texts.end(), one.c_str(), one.c_str() + one.size() + 1);
    return at;
  }

  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  Bytes section_names_, names_, symbols_;
  uint32_t symbol_count_ = 0;
};

}  // namespace diogenes::testing
