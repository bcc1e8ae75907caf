#include "launcher/command_line/build_details.h"

#include <fmt/format.h>

#include "commit.h"  // made by cmake/Commit.cmake
#include "trace/format.h"

namespace diogenes::launcher {

std::string version_text() {
#ifdef __clang__
  const char* compiler = "Clang " __clang_version__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  return fmt::format("diogenes {}\ncommit: {}\ncompiler: {}\ntrace format: {}", kVersion, kCommit, compiler,
                     kTraceVersion);
}

}  // namespace diogenes::launcher
