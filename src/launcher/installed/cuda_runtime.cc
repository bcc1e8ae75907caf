#include "launcher/installed/cuda_runtime.h"

#include <string>
#include <utility>

#include "launcher/installed/elf_sections.h"
#include "launcher/installed/python_in_use.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestProgram = 256 << 20;  // bytes of the file

}  // namespace

bool is_linked_with_runtime(const fs::path& file) {
  ElfSections sections(file, kLargestProgram);
  return !sections.contents(".nvFatBinSegment").empty() ||
         sections.contents(".dynstr").find("libcudart.so") != std::string::npos ||
         sections.contents(".strtab").find("libcudart_static_") != std::string::npos;
}

bool used_runtime(const fs::path& stage_folder) {
  std::error_code failed;
  for (const auto& process : fs::directory_iterator(stage_folder, failed)) {
    bool first = true;  // the program itself
    for (const std::string& loaded : loaded_files(process.path())) {
      if (fs::path(loaded).filename().string().starts_with("libcudart.so")) return true;
      if (std::exchange(first, false) && is_linked_with_runtime(loaded)) return true;
    }
  }
  return false;
}

}  // namespace diogenes::launcher
