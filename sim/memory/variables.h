// Variables of modules (`__device__` and `__managed__`): memory that comes and goes with its module, zero at
// first.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calls/objects.h"

namespace diogenes::sim {

struct Variable {
  std::string name;
  uintptr_t base;  // managed: in the module's block; else memory of its own
  size_t bytes;
  bool managed = false;
};

struct Variables {
  std::vector<Variable> list;
  uintptr_t managed_block = 0;  // one allocation, as the real driver makes it; 0: none
};

// False: out of memory. No lock held.
bool make_variables(std::string_view ptx, Context* context, Variables& made);
void release_variables(Variables& variables);

}  // namespace diogenes::sim
