// What this build is: for `diogenes --version`, and so for reports of faults.
#pragma once
#include <string>

namespace diogenes::launcher {

inline constexpr const char* kVersion = DIOGENES_VERSION;  // from the top CMakeLists.txt

// "diogenes 0.1.0", and a line each for the commit, the compiler and the trace format.
std::string version_text();

}  // namespace diogenes::launcher
