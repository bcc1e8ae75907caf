// The tool's version, from the top CMakeLists.txt.
#pragma once
namespace diogenes::launcher {
inline constexpr const char* kVersion = DIOGENES_VERSION;
}
