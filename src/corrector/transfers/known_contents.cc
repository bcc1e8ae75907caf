#include "corrector/transfers/known_contents.h"

namespace diogenes::corrector {

bool KnownContents::start(const CorrectorServices& services) {
  mem_alloc_ = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(services.driver_symbol("cuMemAlloc_v2"));
  mem_free_ = reinterpret_cast<CUresult (*)(CUdeviceptr)>(services.driver_symbol("cuMemFree_v2"));
  mem_get_info_ = reinterpret_cast<CUresult (*)(size_t*, size_t*)>(services.driver_symbol("cuMemGetInfo_v2"));
  return mem_alloc_ && mem_free_ && mem_get_info_;
}

uint64_t KnownContents::find(const TransferContent& content, uint64_t bytes, uint64_t context) const {
  for (int i = 0; i < count_; ++i) {
    const Known& one = known_[i];
    if (one.bytes == bytes && one.context == context && one.content.low == content.low &&
        one.content.high == content.high)
      return one.at;
  }
  return 0;
}

uint64_t KnownContents::reserve(uint64_t bytes) {
  size_t free = 0, total = 0;
  if (limit_ == 0 && mem_get_info_(&free, &total) == CUDA_SUCCESS) limit_ = free / 8;
  CUdeviceptr at = 0;
  if (over_ || count_ == kMost || bytes_ + bytes > limit_ || mem_alloc_(&at, bytes) != CUDA_SUCCESS) return 0;
  return at;
}

void KnownContents::remember(const TransferContent& content, uint64_t bytes, uint64_t context, uint64_t at) {
  known_[count_++] = {content, bytes, context, at};
  bytes_ += bytes;
}

}  // namespace diogenes::corrector
