#include "variables.h"

#include "memory_map.h"

namespace diogenes::sim {

bool make_variables(std::string_view ptx, Module& module) {
  for (PtxVariable& variable : parse_ptx_variables(ptx)) {
    const uintptr_t base = variable.managed
                               ? memory_map().allocate_host(variable.bytes, MemoryKind::managed,
                                                            CU_MEM_ATTACH_GLOBAL, module.context)
                               : memory_map().allocate_device(variable.bytes, module.context, false);
    if (!base || !memory_map().fill(base, 0, 1, variable.bytes)) {
      release_variables(module);
      return false;
    }
    module.variables.push_back({std::move(variable.name), base, variable.bytes});
  }
  return true;
}

void release_variables(Module& module) {
  for (const Variable& variable : module.variables)
    memory_map().release(variable.base, [](const Allocation&) { return true; });
  module.variables.clear();
}

}  // namespace diogenes::sim
