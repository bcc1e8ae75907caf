#include "launcher/installed/python_in_use.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestInterpreter = 128 << 20;  // bytes of the file

}  // namespace

std::vector<std::string> loaded_files(const std::filesystem::path& process_folder) {
  std::vector<std::string> files;
  std::ifstream modules(process_folder / "modules", std::ios::binary);
  ModuleRecord record;
  while (modules.read(reinterpret_cast<char*>(&record), sizeof record) && record.present)
    files.emplace_back(record.path, strnlen(record.path, sizeof record.path));
  return files;
}

bool exports(const fs::path& file, const char* symbol) {
  std::error_code failed;
  const uint64_t size = fs::file_size(file, failed);
  std::ifstream input(file, std::ios::binary);
  Elf64_Ehdr header;
  if (failed || size > kLargestInterpreter || !input.read(reinterpret_cast<char*>(&header), sizeof header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  input.seekg(static_cast<std::streamoff>(header.e_shoff));
  if (!input.read(reinterpret_cast<char*>(sections.data()),
                  static_cast<std::streamsize>(sections.size() * sizeof(Elf64_Shdr))))
    return false;
  const auto contents = [&](const Elf64_Shdr& section) {
    std::string bytes(section.sh_size <= size ? section.sh_size : 0, '\0');
    input.seekg(static_cast<std::streamoff>(section.sh_offset));
    if (!input.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) bytes.clear();
    return bytes;
  };
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const std::string symbols = contents(section), names = contents(sections[section.sh_link]);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      memcpy(&entry, symbols.data() + at, sizeof entry);
      if (entry.st_shndx != SHN_UNDEF && entry.st_name < names.size() &&
          std::string_view(names.c_str() + entry.st_name) == symbol)
        return true;
    }
  }
  return false;
}

bool runs_python(const fs::path& stage_folder) {
  std::set<std::string> seen;
  std::error_code failed;
  for (auto& process : fs::directory_iterator(stage_folder, failed))
    for (const std::string& file : loaded_files(process.path()))
      if (seen.insert(file).second && exports(file, "_PyRuntime")) return true;
  return false;
}

}  // namespace diogenes::launcher
