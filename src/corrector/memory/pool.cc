#include "corrector/memory/pool.h"

namespace diogenes::corrector {

bool Pool::start(const CorrectorServices& services) {
  limit_ = services.plan->pool_limit;
  mem_free_ = reinterpret_cast<CUresult (*)(CUdeviceptr)>(services.driver_symbol("cuMemFree_v2"));
  mem_get_info_ = reinterpret_cast<CUresult (*)(size_t*, size_t*)>(services.driver_symbol("cuMemGetInfo_v2"));
  return mem_free_ && mem_get_info_;
}

Undeferred Pool::refuses(uint64_t address, uint64_t context) {
  const Allocated* known = allocated_.find(address);
  if (!known || known->context != context || !mem_free_ || !mem_get_info_) return Undeferred::unknown_block;
  size_t free = 0, total = 0;
  if (limit_ == kHalfOfWhatIsFree && mem_get_info_(&free, &total) == CUDA_SUCCESS) limit_ = free / 2;
  return count_ == kMostBlocks || kept_bytes_ + known->bytes > limit_ ? Undeferred::pool_full
                                                                      : Undeferred::none;
}

void Pool::keep(uint64_t address, uint64_t context) {
  const Allocated* known = allocated_.find(address);
  if (!known) return;
  blocks_[count_++] = {address, known->bytes, context};
  kept_bytes_ += known->bytes;
}

bool Pool::keeps(uint64_t address) const {
  for (int i = 0; i < count_; ++i)
    if (blocks_[i].address == address) return true;
  return false;
}

uint64_t Pool::take(uint64_t bytes, uint64_t context) {
  for (int i = 0; i < count_; ++i) {
    if (blocks_[i].bytes != bytes || blocks_[i].context != context) continue;
    const uint64_t address = blocks_[i].address;
    kept_bytes_ -= bytes;
    blocks_[i] = blocks_[--count_];
    return address;
  }
  return 0;
}

bool Pool::stands_in_the_way_of(uint64_t bytes) {
  const uint64_t needed = bytes + bytes / 8 + kSpare;
  constexpr uint32_t kAskAgain = 16;
  if (free_ >= needed && ++not_asked_ < kAskAgain) return false;
  not_asked_ = 0;
  size_t free = 0, total = 0;
  free_ = mem_get_info_(&free, &total) == CUDA_SUCCESS ? free : 0;
  return free_ < needed;
}

}  // namespace diogenes::corrector
