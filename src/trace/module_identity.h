// What a loaded file is in every run, wherever it lies. Written into plans by the launcher, compared by the agent.
#pragma once
#include <string_view>

#include "trace/format.h"

namespace diogenes {

// Identity of a module across runs: its build-id, or its file name where it has none. Frames without a module
// (generated code) have identity 0 and count with offset 0.
inline uint64_t module_identity(const ModuleRecord& module) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  if (module.build_id_length > 0) {
    for (int i = 0; i < module.build_id_length && i < 20; ++i) add(module.build_id[i]);
  } else {
    const char* name = module.path;
    for (const char* p = module.path; *p && p < module.path + sizeof module.path; ++p)
      if (*p == '/') name = p + 1;
    for (; *name && name < module.path + sizeof module.path; ++name) add(static_cast<uint8_t>(*name));
  }
  return hash;
}

// Is the file Python's interpreter, by its name: python3, python3.11, libpython3.11.so.1.0?
// (The agent has no libstdc++: no function of string_view's that may throw.)
inline bool is_interpreter(std::string_view path) {
  const auto skip = [&path](std::string_view word) {
    if (path.size() < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i)
      if (path[i] != word[i]) return false;
    path.remove_prefix(word.size());
    return true;
  };
  for (size_t i = path.size(); i-- > 0;)
    if (path[i] == '/') {
      path.remove_prefix(i + 1);
      break;
    }
  skip("lib");
  if (!skip("python")) return false;
  return path.empty() || (path.front() >= '0' && path.front() <= '9');
}

}  // namespace diogenes
