#include "launcher/installed/jit_check.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "base/in_background.h"
#include "driver/discovery/child_output.h"
#include "launcher/installed/python_in_use.h"
#include "trace/format.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kLinkerTimeout{10'000'000'000};
constexpr size_t kMostThreads = 8;

GpuCodeRecord record_of(const std::string& file, const GpuCodeFit& fit) {
  return {file, fit.native, fit.compiled, fit.neither, fit.built_for};
}

ComputeCapability gpu_of(const fs::path& process_folder) {
  std::ifstream file(process_folder / "process", std::ios::binary);
  auto process = std::make_unique<ProcessFile>();
  if (!file.read(reinterpret_cast<char*>(process.get()), sizeof *process) ||
      memcmp(process->magic, kTraceMagic, sizeof kTraceMagic) != 0)
    return {};
  return {process->capability_major, process->capability_minor};
}

// The paths in the lines "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)" of the dynamic linker.
std::vector<std::string> linked_files(const fs::path& program) {
  std::vector<std::string> files{program.string()};
  Result<ChildOutput> listed =
      run_child({"/lib64/ld-linux-x86-64.so.2", "--list", fs::absolute(program).string()}, kLinkerTimeout);
  if (!listed) return files;
  std::istringstream lines(listed->standard_output);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find("=> /"), end = line.rfind(" (0x");
    if (arrow != std::string::npos && end != std::string::npos && end > arrow + 3)
      files.push_back(line.substr(arrow + 3, end - arrow - 3));
  }
  return files;
}

}  // namespace

std::vector<GpuCodeRecord> files_to_compile(const fs::path& stage_folder) {
  struct File {
    std::string path;
    ComputeCapability gpu;
    GpuCodeFit fit;
  };
  std::vector<File> files;
  std::set<std::string> seen;
  std::error_code failed;
  for (const auto& process : fs::directory_iterator(stage_folder, failed)) {
    const ComputeCapability gpu = gpu_of(process.path());
    if (gpu.major == 0) continue;
    for (const std::string& file : loaded_files(process.path()))
      if (seen.insert(file).second) files.push_back({file, gpu, {}});
  }
  // PyTorch's have gigabytes, of which no page may be in memory.
  each_on_threads(kMostThreads, files.size(), [&](size_t i) {
    if (const auto binaries = read_fat_binaries(files[i].path))
      files[i].fit = fit_of(*binaries, files[i].gpu);
  });
  std::vector<GpuCodeRecord> found;
  for (const File& file : files)
    if (file.fit.compiled > 0) found.push_back(record_of(file.path, file.fit));
  return found;
}

ProgramCode gpu_code_of(const fs::path& program, ComputeCapability gpu) {
  ProgramCode result;
  for (const std::string& file : linked_files(program)) {
    const auto binaries = read_fat_binaries(file);
    if (!binaries || binaries->empty()) continue;
    ++result.files;
    const GpuCodeFit fit = fit_of(*binaries, gpu);
    if (fit.compiled > 0)
      result.to_compile.push_back(record_of(file, fit));
    else if (fit.native == 0)
      result.unusable.push_back(file);
  }
  return result;
}

}  // namespace diogenes::launcher
