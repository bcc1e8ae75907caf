// GPU code as a file (cubin): an ELF file of 64 bits for machine 190. Its sections, whether it has lines, and a copy of the part
// that the analysis reads. In: bytes, which nobody has checked: they may be cut, damaged or made to do harm. Out: views into
// these bytes, which have to outlive them. Nothing is allocated and time is linear, so that the code is safe inside a target.
//
// Source: the ELF specification; machine and architecture as in LLVM's definitions of ELF (EM_CUDA; EF_CUDA_SM of version 7 of
// the format, which CUDA 12 writes, and EF_CUDA_SM_MASK of version 8, CUDA 13's; version 7 was not tried here). Names of
// sections: files that nvcc 13 wrote for sm_75 to sm_121.
#pragma once
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"

namespace diogenes {

class CubinFile {
 public:
  static constexpr size_t kMostBytes = 64 << 20;
  static constexpr size_t kMostNameBytes = 1 << 15;  // a longer name is taken for none

  struct Section {
    std::string_view name;
    uint32_t type = 0;
    uint64_t flags = 0;
    uint32_t link = 0, info = 0;        // sections, if they are there
    std::span<const uint8_t> contents;  // none where the file has none, or where they would lie outside of it
  };

  // Error: no cubin, or so cut that its sections are not known.
  static Result<CubinFile> read(std::span<const uint8_t> bytes) {
    CubinFile file(bytes);
    Elf64_Ehdr& header = file.header_;
    if (bytes.size() < sizeof header) return error("no GPU code: %zu bytes hold no ELF file", bytes.size());
    if (bytes.size() > kMostBytes)
      return error("GPU code of %zu bytes is left out: at most %zu are read", bytes.size(), kMostBytes);
    memcpy(&header, bytes.data(), sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_CUDA)
      return error("no GPU code: not an ELF file for NVIDIA's GPUs");
    const uint64_t table_bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > bytes.size() ||
        table_bytes > bytes.size() - header.e_shoff)
      return error("GPU code of %zu bytes has no table of sections; is it cut off?", bytes.size());
    file.section_names_ = file.contents_of(file.header_of(header.e_shstrndx));
    uint64_t name_bytes = 0;
    for (uint32_t i = 0; i < file.section_count(); ++i)
      name_bytes += text_at(file.section_names_, file.header_of(i).sh_name).size();
    if (name_bytes > bytes.size())
      return error("GPU code of %zu bytes is left out: names of its sections lie in one another",
                   bytes.size());
    return file;
  }

  // 90: sm_90. Whatever the file says; 0: it does not.
  int architecture() const {
    constexpr uint8_t kOlderFormat = 7;
    const uint32_t flags = header_.e_flags;
    return static_cast<int>(header_.e_ident[EI_ABIVERSION] == kOlderFormat ? flags & 0xff
                                                                           : flags >> 8 & 0xff);
  }

  uint32_t section_count() const { return header_.e_shnum; }
  // Empty where there is no such section.
  Section section(uint32_t index) const {
    const Elf64_Shdr header = header_of(index);
    return {text_at(section_names_, header.sh_name),
            header.sh_type,
            header.sh_flags,
            header.sh_link,
            header.sh_info,
            contents_of(header)};
  }
  // The first of that name, or an empty one.
  Section section(std::string_view name) const {
    for (uint32_t i = 0; i < section_count(); ++i)
      if (text_at(section_names_, header_of(i).sh_name) == name) return section(i);
    return {};
  }

  // Was it compiled with -lineinfo or -G? Without, it is not the user's, or there is nothing to show.
  bool has_lines() const { return !section(std::string_view(".debug_line")).contents.empty(); }

  // Writes a copy with what the analysis reads: code, names, lines, calls. Left out are PTX text (half of many files), data,
  // and the second form of the code that files for sm_100 have. The sections keep their numbers. `write`, called with one span
  // after the other, returns false where it fails. A copy of a copy is the same. At most as long as the file and 8 bytes for each
  // of its sections; error: it would be longer, as sections lie in one another, or `write` failed.
  template <typename Write>
  Status write_kept_part(const Write& write) const;

  // A text that ends with 0, from `offset` on. Empty where there is none.
  static std::string_view text_at(std::span<const uint8_t> texts, uint64_t offset) {
    if (offset >= texts.size()) return {};
    const std::span<const uint8_t> rest =
        texts.subspan(offset, std::min<uint64_t>(texts.size() - offset, kMostNameBytes));
    const auto* end = static_cast<const uint8_t*>(memchr(rest.data(), 0, rest.size()));
    if (!end) return {};
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.data())};
  }

 private:
  explicit CubinFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  Elf64_Shdr header_of(uint32_t index) const {
    Elf64_Shdr header{};
    if (index < header_.e_shnum)
      memcpy(&header, bytes_.data() + header_.e_shoff + index * sizeof header, sizeof header);
    return header;
  }
  std::span<const uint8_t> contents_of(const Elf64_Shdr& header) const {
    if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return {};
    if (header.sh_offset > bytes_.size() || header.sh_size > bytes_.size() - header.sh_offset) return {};
    return bytes_.subspan(header.sh_offset, header.sh_size);
  }

  static bool is_kept(std::string_view name) {
    for (const char* whole : {".shstrtab", ".strtab", ".symtab", ".debug_line", ".debug_str",
                              ".rela.debug_line", ".rel.debug_line", ".nv.callgraph"})
      if (name == whole) return true;
    for (const char* begin : {".text.", ".rela.text.", ".rel.text.", ".nv.info"})
      if (name.starts_with(begin)) return true;
    return false;
  }

  std::span<const uint8_t> bytes_;
  Elf64_Ehdr header_{};
  std::span<const uint8_t> section_names_;
};

template <typename Write>
Status CubinFile::write_kept_part(const Write& write) const {
  constexpr uint64_t kAlignment = 8;
  constexpr uint8_t kZeros[kAlignment] = {};
  const auto padding = [](uint64_t size) { return (kAlignment - size % kAlignment) % kAlignment; };
  const auto kept = [&](uint32_t index) {  // the names of sections, too, whatever their section is called
    const Section one = section(index);
    return index == header_.e_shstrndx || is_kept(one.name) ? one.contents : std::span<const uint8_t>();
  };
  uint64_t size = 0;
  for (uint32_t i = 0; i < section_count(); ++i) size += kept(i).size() + padding(kept(i).size());
  const uint64_t around = sizeof(Elf64_Ehdr) + uint64_t{section_count()} * sizeof(Elf64_Shdr);
  if (around + size > bytes_.size() + kAlignment * section_count())
    return error("GPU code of %zu bytes is not kept: its sections lie in one another", bytes_.size());

  const auto put = [&](const void* data, uint64_t count) {
    return count == 0 || write(std::span(static_cast<const uint8_t*>(data), static_cast<size_t>(count)));
  };
  Elf64_Ehdr header = header_;
  header.e_phoff = header.e_phnum = 0;
  header.e_shoff = sizeof header + size;
  bool written = put(&header, sizeof header);
  for (uint32_t i = 0; i < section_count() && written; ++i) {
    const std::span<const uint8_t> contents = kept(i);
    written = put(contents.data(), contents.size()) && put(kZeros, padding(contents.size()));
  }
  uint64_t offset = sizeof header;
  for (uint32_t i = 0; i < section_count() && written; ++i) {
    Elf64_Shdr changed = header_of(i);
    const uint64_t bytes = kept(i).size();
    if (bytes == 0 && changed.sh_type != SHT_NULL) changed.sh_type = SHT_NOBITS;
    changed.sh_offset = offset;
    changed.sh_size = bytes;
    offset += bytes + padding(bytes);
    written = put(&changed, sizeof changed);
  }
  if (!written) return error("GPU code of %zu bytes cannot be written", bytes_.size());
  return Done{};
}

}  // namespace diogenes
