// Where branches by table lead to, as compilers make them of a `switch`. In: a cubin's sections (driver/cubin_file.h). Out: their
// targets. Source: `.nv.info.NAME` as nvcc 13 writes it; targets were compared with the tables in constant memory.
//
// The section consists of attributes: a byte that says how long the value is (4: as the next 16 bits say; else it is these 16
// bits), a byte with the attribute's number, and these 16 bits. Number 0x34 has records of 32-bit numbers: where the branch
// stands, 0, how many targets there are, and each of them, in bytes from where the code section starts. That is the one in the
// header's `info`.
#pragma once
#include <cstdint>
#include <vector>

#include "driver/cubin_file.h"

namespace diogenes {

struct BranchTarget {
  uint32_t section;         // that holds the branch
  uint32_t branch, target;  // bytes from where that starts; not checked

  auto operator<=>(const BranchTarget&) const = default;
};

inline constexpr size_t kMostBranchTargets = 1 << 20;  // of a file; further ones are left out

// Sorted, none twice.
std::vector<BranchTarget> read_branch_targets(const CubinFile& file);

}  // namespace diogenes
