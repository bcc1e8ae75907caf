// Where this library's own code lies.
#pragma once
#include <cstdint>

// From the linker.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace diogenes::agent {

inline bool in_agent_code(uintptr_t instruction) {
  return instruction >= reinterpret_cast<uintptr_t>(__ehdr_start) &&
         instruction < reinterpret_cast<uintptr_t>(etext);
}

}  // namespace diogenes::agent
