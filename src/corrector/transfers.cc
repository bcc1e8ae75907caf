#include "corrector/transfers.h"

#include <type_traits>

namespace diogenes::corrector {

bool Transfers::start(const CorrectorServices& services) {
  services_ = &services;
  delivers_ = deliveries_.start(services);
  const auto find = [&services](auto& function, const char* name) {
    const uintptr_t address = services.driver_symbol(name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    return address != 0;
  };
  return staging_.start(services) && known_.start(services) && find(to_device_, "cuMemcpyHtoDAsync_v2") &&
         find(to_host_, "cuMemcpyDtoHAsync_v2") && find(on_device_, "cuMemcpyDtoDAsync_v2") &&
         find(set_8_, "cuMemsetD8Async") && find(set_16_, "cuMemsetD16Async") &&
         find(set_32_, "cuMemsetD32Async");
}

bool Transfers::give(const CopyUnderWay& copy, CUstream stream, uint64_t context) {
  const CorrectedTransfer& what = copy.what;
  if (!what.to_host) return to_device(copy, stream, context);
  void* to = what.staged ? copy.block->memory : reinterpret_cast<void*>(what.host);
  return to_host_(to, what.device, what.bytes, stream) == CUDA_SUCCESS;
}

bool Transfers::to_device(const CopyUnderWay& copy, CUstream stream, uint64_t context) {
  const CorrectedTransfer& what = copy.what;
  const TransferContent& content = copy.content;
  if (copy.how & kSetsOneValue) {
    const uint32_t value = content.value;
    if (content.value_bytes == 1)
      return set_8_(what.device, static_cast<unsigned char>(value), what.bytes, stream) == CUDA_SUCCESS;
    if (content.value_bytes == 2 && what.device % 2 == 0 && what.bytes % 2 == 0)
      return set_16_(what.device, static_cast<unsigned short>(value), what.bytes / 2, stream) == CUDA_SUCCESS;
    if (content.value_bytes == 4 && what.device % 4 == 0 && what.bytes % 4 == 0)
      return set_32_(what.device, value, what.bytes / 4, stream) == CUDA_SUCCESS;
  }
  if (copy.how & kKnowsContents)
    if (const uint64_t known = known_.find(content, what.bytes, context))
      return on_device_(what.device, known, what.bytes, stream) == CUDA_SUCCESS;
  const void* from = what.staged ? copy.block->memory : reinterpret_cast<const void*>(what.host);
  if (to_device_(what.device, from, what.bytes, stream) != CUDA_SUCCESS) return false;
  if (!(copy.how & kKnowsContents)) return true;
  const uint64_t kept = known_.reserve(what.bytes);
  if (kept != 0 && on_device_(kept, what.device, what.bytes, stream) == CUDA_SUCCESS)
    known_.remember(content, what.bytes, context, kept);
  else if (kept != 0)
    known_.release(kept);
  return true;
}

void Transfers::follow(const CopyUnderWay& copy, Deferral deferral) {
  if (!copy.block) return;
  Staging::keep_until(*copy.block, deferral);
  if (!copy.what.to_host) return;
  deliveries_.drop_inside(copy.what.host, copy.what.bytes);
  deliveries_.add(deferral, copy.what.host, copy.what.bytes, copy.block->memory);
}

}  // namespace diogenes::corrector
