#include "pools.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "calls/state.h"

namespace diogenes::sim {
namespace {

struct Pool {
  std::map<CUmemPool_attribute, uint64_t> attributes = {
      {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1},
      {CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0}};
  uint64_t used = 0, used_high = 0;
};

struct Pools {
  std::mutex lock;
  std::unordered_map<CUmemoryPool, std::unique_ptr<Pool>> pools;
  std::unordered_map<CUdeviceptr, std::pair<CUmemoryPool, size_t>> uses;
  CUmemoryPool standard = nullptr, current = nullptr;

  Pools() { standard = current = add(); }
  CUmemoryPool add() {
    auto pool = std::make_unique<Pool>();
    const auto handle = reinterpret_cast<CUmemoryPool>(pool.get());
    pools[handle] = std::move(pool);
    return handle;
  }
  Pool* find(CUmemoryPool handle) {
    const auto found = pools.find(handle);
    return found == pools.end() ? nullptr : found->second.get();
  }
};
Pools& all_pools() {
  static Pools* pools = new Pools;
  return *pools;
}

CUresult get_pool(CUmemoryPool* pool, CUdevice device_number, CUmemoryPool Pools::*which) {
  DRIVER_CALL(nothing);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard held(all_pools().lock);
  *pool = all_pools().*which;
  return CUDA_SUCCESS;
}

// The reuse switches are ints, the rest 64 bits wide.
bool is_switch(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace

CUmemoryPool current_pool() {
  const std::lock_guard held(all_pools().lock);
  return all_pools().current;
}

bool is_pool(CUmemoryPool pool) {
  const std::lock_guard held(all_pools().lock);
  return all_pools().find(pool) != nullptr;
}

void count_pool_use(CUmemoryPool handle, CUdeviceptr address, size_t bytes) {
  const std::lock_guard held(all_pools().lock);
  Pool* pool = all_pools().find(handle);
  if (!pool) return;
  all_pools().uses[address] = {handle, bytes};
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
}

void end_pool_use(CUdeviceptr address) {
  const std::lock_guard held(all_pools().lock);
  const auto use = all_pools().uses.find(address);
  if (use == all_pools().uses.end()) return;
  if (Pool* pool = all_pools().find(use->second.first)) pool->used -= use->second.second;
  all_pools().uses.erase(use);
}

}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_pool(pool, device, &Pools::standard);
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_pool(pool, device, &Pools::current);
}

CUresult cuDeviceSetMemPool(CUdevice device_number, CUmemoryPool pool) {
  DRIVER_CALL(nothing);
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard held(all_pools().lock);
  if (!all_pools().find(pool)) return CUDA_ERROR_INVALID_VALUE;
  all_pools().current = pool;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  DRIVER_CALL(nothing);
  if (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || properties->location.id != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard held(all_pools().lock);
  *pool = all_pools().add();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  DRIVER_CALL(nothing);
  const std::lock_guard held(all_pools().lock);
  if (!all_pools().find(pool) || pool == all_pools().standard) return CUDA_ERROR_INVALID_VALUE;
  if (all_pools().current == pool) all_pools().current = all_pools().standard;
  all_pools().pools.erase(pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  DRIVER_CALL(nothing);
  return is_pool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  DRIVER_CALL(nothing);
  const std::lock_guard held(all_pools().lock);
  const Pool* pool = all_pools().find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  uint64_t known;
  if (const auto found = pool->attributes.find(attribute); found != pool->attributes.end())
    known = found->second;
  else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    known = pool->used;
  else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    known = pool->used_high;
  else
    return CUDA_ERROR_INVALID_VALUE;
  if (is_switch(attribute))
    *static_cast<int*>(value) = static_cast<int>(known);
  else
    *static_cast<uint64_t*>(value) = known;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  DRIVER_CALL(nothing);
  const std::lock_guard held(all_pools().lock);
  Pool* pool = all_pools().find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
    pool->used_high = pool->used;
    return CUDA_SUCCESS;
  }
  const auto found = pool->attributes.find(attribute);
  if (found == pool->attributes.end()) return CUDA_ERROR_INVALID_VALUE;
  found->second = is_switch(attribute) ? static_cast<uint64_t>(*static_cast<int*>(value))
                                       : *static_cast<uint64_t*>(value);
  return CUDA_SUCCESS;
}
