// What the kernels of kernels.ptx do, as the simulated device does it. In: the bytes of a launch's
// parameters. Out: the work. Only entries whose name and parameters are these are known.
#pragma once
#include <string_view>
#include <vector>

#include "device.h"
#include "ptx.h"

namespace diogenes::sim {

struct Kernel {
  std::string_view name;
  std::vector<PtxParameter> parameters;
  Work (*work)(const char* parameters);
};

// Null: no kernel of that name with those parameters.
const Kernel* find_kernel(const PtxEntry& entry);

}  // namespace diogenes::sim
