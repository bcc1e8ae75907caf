#include "launcher/installed/loaded_files.h"

#include <cstring>
#include <fstream>

#include "trace/format.h"

namespace diogenes::launcher {

std::vector<std::string> loaded_files(const std::filesystem::path& process_folder) {
  std::vector<std::string> files;
  std::ifstream modules(process_folder / "modules", std::ios::binary);
  ModuleRecord record;
  while (modules.read(reinterpret_cast<char*>(&record), sizeof record) && record.present)
    files.emplace_back(record.path, strnlen(record.path, sizeof record.path));
  return files;
}

}  // namespace diogenes::launcher
