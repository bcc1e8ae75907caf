#include "launcher/installed/cupti.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "launcher/measuring/target_environment.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

// N of libcupti.so.N; 0: it is called otherwise. (libcupti.so.2023.1.0 is what an N leads to.)
int version_in(const std::string& name) {
  constexpr std::string_view kFront = "libcupti.so.";
  if (!name.starts_with(kFront)) return 0;
  int version = 0;
  const char* end = name.data() + name.size();
  auto [stop, wrong] = std::from_chars(name.data() + kFront.size(), end, version);
  return wrong == std::errc{} && stop == end ? version : 0;
}

void add_toolkit(const fs::path& top, std::vector<fs::path>& folders) {
  for (const char* folder :
       {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64", "lib/x86_64-linux-gnu"})
    folders.push_back(top / folder);
}

}  // namespace

fs::path find_cupti(const std::vector<std::string>& environment, int driver_version,
                    const std::vector<fs::path>& usual) {
  if (std::string own = value_of(environment, "DIOGENES_CUPTI"); !own.empty()) return own;
  std::vector<fs::path> folders;
  std::istringstream path(value_of(environment, "LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string top = value_of(environment, name); !top.empty()) add_toolkit(top, folders);
  for (const fs::path& top : usual) add_toolkit(top, folders);

  const int limit = driver_version > 0 ? driver_version / 1000 : INT32_MAX;
  fs::path best;
  int best_version = 0;
  for (const fs::path& folder : folders) {
    if (best_version == limit) break;  // system folders have many files
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      const int version = version_in(entry->path().filename().string());
      if (version <= best_version || version > limit) continue;
      best_version = version;
      best = entry->path();
    }
  }
  return best;
}

int cuda_version_of(const std::string& driver_version) {
  // Drivers from 580 on are of CUDA 13, those before it of 12 (CUDA's release notes, table 3).
  constexpr int kFirstOfCuda13 = 580;
  const int major = atoi(driver_version.c_str());
  return major == 0 ? 0 : major >= kFirstOfCuda13 ? 13'000 : 12'000;
}

std::vector<fs::path> usual_toolkits() {
  std::vector<fs::path> versions;
  std::error_code failed;
  for (fs::directory_iterator entry("/usr/local", failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry->path().filename().string().starts_with("cuda-")) versions.push_back(entry->path());
  std::sort(versions.rbegin(), versions.rend());
  std::vector<fs::path> all = {"/usr/local/cuda"};
  all.insert(all.end(), versions.begin(), versions.end());
  all.insert(all.end(), {"/opt/cuda", "/usr"});
  return all;
}

}  // namespace diogenes::launcher
