#include "variables.h"

#include <vector>

#include "memory_map.h"

namespace diogenes::sim {

namespace {

constexpr size_t kAlignment = 16;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

bool make_variables(std::string_view ptx, Module& module) {
  std::vector<PtxVariable> variables = parse_ptx_variables(ptx);
  size_t managed = 0;
  for (const PtxVariable& variable : variables)
    if (variable.managed) managed += aligned(variable.bytes);
  uintptr_t next = 0;
  if (managed > 0) {
    next = memory_map().allocate_host(managed, MemoryKind::managed, CU_MEM_ATTACH_GLOBAL, module.context);
    module.managed_block = next;
    if (!next || !memory_map().fill(next, 0, 1, managed)) {
      release_variables(module);
      return false;
    }
  }
  for (PtxVariable& variable : variables) {
    uintptr_t base = next;
    if (variable.managed) {
      next += aligned(variable.bytes);
    } else {
      base = memory_map().allocate_device(variable.bytes, module.context, false);
      if (!base || !memory_map().fill(base, 0, 1, variable.bytes)) {
        release_variables(module);
        return false;
      }
    }
    module.variables.push_back({std::move(variable.name), base, variable.bytes, variable.managed});
  }
  return true;
}

void release_variables(Module& module) {
  const auto any = [](const Allocation&) { return true; };
  for (const Variable& variable : module.variables)
    if (!variable.managed) memory_map().release(variable.base, any);
  if (module.managed_block) memory_map().release(module.managed_block, any);
  module.managed_block = 0;
  module.variables.clear();
}

}  // namespace diogenes::sim
