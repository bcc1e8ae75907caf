#include "corrector/transfers/transfers.h"

#include <string.h>
#include <sys/syscall.h>

#include <type_traits>

#include "corrector/waits/wait_clock.h"

namespace diogenes::corrector {

bool Transfers::start(const CorrectorServices& services) {
  services_ = &services;
  delivers_ = deliveries_.start(services);
  sources_.start(services);
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

// Without a touch: what is not there must stay the driver's error.
bool Transfers::is_readable(const CorrectedTransfer& what) const {
  constexpr long kPopulateRead = 22;  // MADV_POPULATE_READ, of Linux 5.14
  const uint64_t begin = what.host & ~uint64_t{4095}, end = (what.host + what.bytes + 4095) & ~uint64_t{4095};
  return services_->system_call(SYS_madvise, static_cast<long>(begin), static_cast<long>(end - begin),
                                kPopulateRead, 0, 0, 0) == 0;
}

void Transfers::look_at(const void* bytes, CopyUnderWay& copy) {
  const int64_t begin = now();
  services_->content(bytes, copy.what.bytes, (copy.how & kSetsOneValue) != 0, &copy.content);
  counts_.add_looked(now() - begin);
}

bool Transfers::stage(CopyUnderWay& copy) {
  const CorrectedTransfer& what = copy.what;
  const auto* from = reinterpret_cast<const void*>(what.host);
  const int64_t begin = now();
  if (is_readable(what))
    memcpy(copy.block->memory, from, what.bytes);
  else if (!services_->copy(copy.block->memory, from, what.bytes))
    return false;
  counts_.add_looked(now() - begin);
  if (copy.how != 0) look_at(copy.block->memory, copy);
  return true;
}

bool Transfers::is_one_value(const CopyUnderWay& copy) const {
  const uint32_t size = copy.content.value_bytes;
  return (copy.how & kSetsOneValue) && size > 0 && copy.what.device % size == 0 &&
         copy.what.bytes % size == 0;
}

bool Transfers::give(const CopyUnderWay& copy, CUstream stream) {
  const CorrectedTransfer& what = copy.what;
  if (what.value_bytes != 0) return set_value(what, what.value, what.value_bytes, stream);
  if (!what.to_host) return to_device(copy, stream);
  void* to = what.staged ? copy.block->memory : reinterpret_cast<void*>(what.host);
  return to_host_(to, what.device, what.bytes, stream) == CUDA_SUCCESS;
}

bool Transfers::set_value(const CorrectedTransfer& what, uint32_t value, uint8_t value_bytes,
                          CUstream stream) {
  const uint64_t device = what.device, count = what.bytes / value_bytes;
  switch (value_bytes) {
    case 1:
      return set_8_(device, static_cast<unsigned char>(value), count, stream) == CUDA_SUCCESS;
    case 2:
      return set_16_(device, static_cast<unsigned short>(value), count, stream) == CUDA_SUCCESS;
    default:
      return set_32_(device, value, count, stream) == CUDA_SUCCESS;
  }
}

bool Transfers::to_device(const CopyUnderWay& copy, CUstream stream) {
  const CorrectedTransfer& what = copy.what;
  if (is_one_value(copy)) return set_value(what, copy.content.value, copy.content.value_bytes, stream);
  if (copy.how & kKnowsContents)
    if (const uint64_t known = known_.find(copy.content, what.bytes, copy.context))
      return on_device_(what.device, known, what.bytes, stream) == CUDA_SUCCESS;
  if (what.staged && !copy.block) return false;
  const void* from = what.staged ? copy.block->memory : reinterpret_cast<const void*>(what.host);
  if (to_device_(what.device, from, what.bytes, stream) != CUDA_SUCCESS) return false;
  if (!(copy.how & kKnowsContents)) return true;
  const uint64_t kept = known_.reserve(what.bytes);
  if (kept != 0 && on_device_(kept, what.device, what.bytes, stream) == CUDA_SUCCESS)
    known_.remember(copy.content, what.bytes, copy.context, kept);
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
