// Which file a module of a trace is.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>

#include "base/build_id.h"
#include "trace/format.h"

namespace diogenes {

inline std::string path_of(const ModuleRecord& module) {
  return {module.path, strnlen(module.path, sizeof module.path)};
}

inline BuildId build_id_of(const ModuleRecord& module) {
  BuildId id;
  id.length = std::min<uint8_t>(module.build_id_length, sizeof module.build_id);
  std::copy_n(module.build_id, id.length, id.bytes.begin());
  return id;
}

}  // namespace diogenes
