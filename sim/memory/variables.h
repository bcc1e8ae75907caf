// Variables of modules (`__device__` and `__managed__`): memory that comes and goes with its module, zero at
// first.
#pragma once
#include <string_view>

#include "modules.h"

namespace diogenes::sim {

// False: out of memory. No lock held.
bool make_variables(std::string_view ptx, Module& module);
void release_variables(Module& module);

}  // namespace diogenes::sim
