#include "variables.h"

#include <vector>

#include "device/ptx.h"
#include "memory_map.h"

namespace diogenes::sim {

namespace {

constexpr size_t kVariableAlignment = 16;

size_t aligned(size_t bytes) {
  return (bytes + kVariableAlignment - 1) / kVariableAlignment * kVariableAlignment;
}

}  // namespace

bool make_variables(std::string_view ptx, Context* context, Variables& made) {
  std::vector<PtxVariable> variables = parse_ptx_variables(ptx);
  size_t managed = 0;
  for (const PtxVariable& variable : variables)
    if (variable.managed) managed += aligned(variable.bytes);
  uintptr_t next = 0;
  if (managed > 0) {
    next = memory_map().allocate_host(managed, MemoryKind::managed, CU_MEM_ATTACH_GLOBAL, context);
    made.managed_block = next;
    if (!next || !memory_map().fill(next, 0, 1, managed)) {
      release_variables(made);
      return false;
    }
  }
  for (PtxVariable& variable : variables) {
    uintptr_t base = next;
    if (variable.managed) {
      next += aligned(variable.bytes);
    } else {
      base = memory_map().allocate_device(variable.bytes, context, false);
      if (!base || !memory_map().fill(base, 0, 1, variable.bytes)) {
        release_variables(made);
        return false;
      }
    }
    made.list.push_back({std::move(variable.name), base, variable.bytes, variable.managed});
  }
  return true;
}

void release_variables(Variables& variables) {
  const auto any = [](const Allocation&) { return true; };
  for (const Variable& variable : variables.list)
    if (!variable.managed) memory_map().release(variable.base, any);
  if (variables.managed_block) memory_map().release(variables.managed_block, any);
  variables.managed_block = 0;
  variables.list.clear();
}

}  // namespace diogenes::sim
