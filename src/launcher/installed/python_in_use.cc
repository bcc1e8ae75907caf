#include "launcher/installed/python_in_use.h"

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/installed/elf_sections.h"
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
  ElfSections elf(file, kLargestInterpreter);
  const std::vector<Elf64_Shdr>& sections = elf.all();
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const std::string symbols = elf.contents(section), names = elf.contents(sections[section.sh_link]);
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
