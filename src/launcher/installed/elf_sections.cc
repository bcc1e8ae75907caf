#include "launcher/installed/elf_sections.h"

#include <cstring>
#include <string_view>

namespace diogenes::launcher {

ElfSections::ElfSections(const std::filesystem::path& file, uint64_t most) : file_(file, std::ios::binary) {
  std::error_code failed;
  size_ = std::filesystem::file_size(file, failed);
  Elf64_Ehdr header;
  if (failed || size_ > most || !file_.read(reinterpret_cast<char*>(&header), sizeof header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return;
  sections_.resize(header.e_shnum);
  file_.seekg(static_cast<std::streamoff>(header.e_shoff));
  if (!file_.read(reinterpret_cast<char*>(sections_.data()),
                  static_cast<std::streamsize>(sections_.size() * sizeof(Elf64_Shdr))))
    sections_.clear();
  if (header.e_shstrndx < sections_.size()) names_ = contents(sections_[header.e_shstrndx]);
}

std::string ElfSections::contents(const Elf64_Shdr& section) {
  std::string bytes(section.sh_type != SHT_NOBITS && section.sh_size <= size_ ? section.sh_size : 0, '\0');
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(section.sh_offset));
  if (!file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) bytes.clear();
  return bytes;
}

std::string ElfSections::contents(const char* name) {
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_name < names_.size() && std::string_view(names_.c_str() + section.sh_name) == name)
      return contents(section);
  return "";
}

}  // namespace diogenes::launcher
