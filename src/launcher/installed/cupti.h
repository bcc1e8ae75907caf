// Where a libcupti lies, for GPU times (src/gpu_times). It is never required.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace diogenes::launcher {

// The file in $DIOGENES_CUPTI, where that is set. Else libcupti.so.N in the folders of LD_LIBRARY_PATH, of
// the toolkits in CUDA_HOME and CUDA_PATH, and of `usual` toolkits: the highest N that is not above the
// driver's CUDA version, and of those the first. "" if there is none. `driver_version`: as cuDriverGetVersion
// has it, 13000; 0: not known, and any N is taken.
std::filesystem::path find_cupti(const std::vector<std::string>& environment, int driver_version,
                                 const std::vector<std::filesystem::path>& usual);

// As `driver_version` above, of the driver's own version: "580.95.05".
int cuda_version_of(const std::string& driver_version);

// /usr/local/cuda and its neighbours, the newest first, and where distributions put one.
std::vector<std::filesystem::path> usual_toolkits();

}  // namespace diogenes::launcher
