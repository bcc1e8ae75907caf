// The interpreters that are installed here, and what reports show of Python.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "measured.h"

namespace diogenes::e2e {

using nlohmann::json;

inline const std::string kPrograms = E2E_PYTHON_PROGRAMS, kKernels = E2E_KERNELS;

// The system's, and those of pyenv.
inline std::vector<std::string> interpreters() {
  std::vector<std::string> found;
  for (const char* path : {"/usr/bin/python3", "/usr/local/bin/python3"})
    if (std::filesystem::exists(path)) found.emplace_back(path);
  const char* home = getenv("HOME");
  std::error_code failed;
  std::filesystem::path versions = std::filesystem::path(home ? home : "/root") / ".pyenv/versions";
  for (const auto& version : std::filesystem::directory_iterator(versions, failed)) {
    const std::string name = version.path().filename();
    const bool known = name.starts_with("3.") && atoi(name.c_str() + 2) >= 8 && atoi(name.c_str() + 2) <= 15;
    if (known && std::filesystem::exists(version.path() / "bin/python3"))
      found.push_back(version.path() / "bin/python3");
  }
  return found;
}

// [file, function, line], innermost first.
inline json python_frames(const json& stack) {
  json frames = json::array();
  for (const auto& frame : stack)
    if (frame.value("language", json()) == "python")
      frames.push_back({frame["file"], frame["function"], frame["line"]});
  return frames;
}

inline std::string title(const testing::TestParamInfo<std::string>& info) {
  std::string result = info.param;
  for (char& c : result)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return result;
}

}  // namespace diogenes::e2e
