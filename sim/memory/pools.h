// Memory pools of stream-ordered allocation: names with counters. All pools draw from the same device memory.
// Thread-safe.
#pragma once
#include "calls/api.h"

namespace diogenes::sim {

CUmemoryPool current_pool();
bool is_pool(CUmemoryPool pool);
void count_pool_use(CUmemoryPool pool, CUdeviceptr address, size_t bytes);
void end_pool_use(CUdeviceptr address);  // nothing where the address is of no pool

}  // namespace diogenes::sim
