// Copies that are made without waiting. To the device: from pinned memory of ours; bytes that repeat one value are set there,
// and a content that was sent before is copied on the device. To the host: into pinned memory of ours, and delivered later.
// The program's own pinned memory takes part itself, guarded; fills of the host's memory do, too.
#pragma once
#include "corrector/transfers/deliveries.h"
#include "corrector/transfers/known_contents.h"
#include "corrector/transfers/known_sources.h"
#include "corrector/transfers/staging.h"

namespace diogenes::corrector {

// A copy or fill under way.
struct CopyUnderWay {
  CorrectedTransfer what;
  uint32_t how = 0;  // of HowCorrected, what is looked for in its bytes
  uint64_t context = 0;
  TransferContent content;
  Staging::Block* block = nullptr;
};

class Transfers {
 public:
  Transfers(Deferrals& deferrals, Deliveries& deliveries, Counts& counts)
      : deferrals_(deferrals), deliveries_(deliveries), counts_(counts) {}
  bool start(const CorrectorServices& services);

  // Under no lock: what goes to the device is read here. None: the copy can be made; its block is taken.
  template <typename Lock>
  Undeferred prepare(CopyUnderWay& copy, bool threads) {
    CorrectedTransfer& what = copy.what;
    if (what.value_bytes != 0) return Undeferred::none;
    if (what.to_host || !what.unwritten) copy.how = 0;
    if (copy.how != 0 && is_known<Lock>(copy)) return Undeferred::none;
    // What is kept for the next time must not change meanwhile.
    if (copy.how & kKnowsContents) what.staged = true;
    if (!what.staged) return Undeferred::none;
    if (what.to_host) {
      if (!delivers_) return Undeferred::unguarded;
      // What comes to other bytes, too, comes before. Another thread may be about to look at what came last.
      if (const Deferral earlier = to_come<Lock>(what, !threads))
        deferrals_.await(earlier, false, *services_);
    }
    if (Staging::is_too_large(what.bytes)) return Undeferred::pool_full;
    copy.block = take<Lock>(what.bytes);
    if (!copy.block || deliveries_.full()) {  // what nobody has come for yet takes the room
      deferrals_.await_all(deferrals_.latest(), *services_);
      if (!copy.block) copy.block = take<Lock>(what.bytes);
    }
    if (!copy.block) return Undeferred::pool_full;
    if (what.to_host) return Undeferred::none;
    return stage(copy) ? Undeferred::none : Undeferred::unknown_memory;
  }

  // Under the lock. Gives it to the stream. False: the driver refused, or what was there is not any more.
  bool give(const CopyUnderWay& copy, CUstream stream);
  // It is done when `deferral` is.
  void follow(const CopyUnderWay& copy, Deferral deferral);
  static void give_up(const CopyUnderWay& copy) {
    if (copy.block) Staging::give_back(*copy.block);
  }

  bool keeps_memory() const { return !known_.empty(); }
  template <typename Lock, typename MayFree>
  void free_all(MayFree may_free, bool for_good) {
    known_.free_all<Lock>(may_free, for_good);
  }

 private:
  template <typename Lock>
  Staging::Block* take(uint64_t bytes) {
    Lock lock;
    return staging_.take(bytes, deferrals_);
  }
  template <typename Lock>
  Deferral to_come(const CorrectedTransfer& what, bool but_inside) {
    Lock lock;
    return deliveries_.to_come(what.host, what.bytes, but_inside);
  }
  // Can the copy be made without its bytes?
  template <typename Lock>
  bool is_known(CopyUnderWay& copy) {
    const CorrectedTransfer& what = copy.what;
    uint32_t reading;
    {
      Lock lock;
      if (sources_.find(what.host, what.bytes, &copy.content, &reading)) return is_there(copy);
    }
    if (!is_readable(what)) return false;
    look_at(reinterpret_cast<const void*>(what.host), copy);
    Lock lock;
    sources_.remember(what.host, what.bytes, copy.content, reading);
    return is_there(copy);
  }
  bool is_readable(const CorrectedTransfer& what) const;
  void look_at(const void* bytes, CopyUnderWay& copy);
  bool stage(CopyUnderWay& copy);
  bool is_one_value(const CopyUnderWay& copy) const;  // ... that can be set
  bool is_there(const CopyUnderWay& copy) const {     // under the lock
    return is_one_value(copy) ||
           ((copy.how & kKnowsContents) && known_.find(copy.content, copy.what.bytes, copy.context));
  }
  bool to_device(const CopyUnderWay& copy, CUstream stream);
  bool set_value(const CorrectedTransfer& what, uint32_t value, uint8_t value_bytes, CUstream stream);

  Deferrals& deferrals_;
  Deliveries& deliveries_;
  Counts& counts_;
  Staging staging_;
  KnownContents known_;
  KnownSources sources_;
  bool delivers_;
  const CorrectorServices* services_;
  CUresult (*to_device_)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*to_host_)(void*, CUdeviceptr, size_t, CUstream);
  CUresult (*on_device_)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
  CUresult (*set_8_)(CUdeviceptr, unsigned char, size_t, CUstream);
  CUresult (*set_16_)(CUdeviceptr, unsigned short, size_t, CUstream);
  CUresult (*set_32_)(CUdeviceptr, unsigned, size_t, CUstream);
};

}  // namespace diogenes::corrector
