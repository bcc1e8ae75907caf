// Contents that the program sent to the device before, kept there: what comes again is copied on the device, where it need
// not cross the bus. Under the corrector's lock, but free_all().
#pragma once
#include "corrector/waits/deferrals.h"

namespace diogenes::corrector {

class KnownContents {
 public:
  bool start(const CorrectorServices& services);

  // Where on the device it lies; 0: nowhere.
  uint64_t find(const TransferContent& content, uint64_t bytes, uint64_t context) const;
  // Memory for a content that is sent; 0: there is none. Either remember() or release() follows.
  uint64_t reserve(uint64_t bytes);
  void release(uint64_t at) { mem_free_(at); }
  void remember(const TransferContent& content, uint64_t bytes, uint64_t context, uint64_t at);

  bool empty() const { return count_ == 0; }
  // Gives all of it back; `for_good`: memory is short, and nothing more is kept. Everything deferred is done. Takes the lock by
  // itself.
  template <typename Lock, typename MayFree>
  void free_all(MayFree may_free, bool for_good) {
    for (;;) {
      uint64_t at = 0;
      {
        Lock lock;
        over_ |= for_good && count_ > 0;
        if (count_ == 0 || !may_free()) return;
        at = known_[--count_].at;
        bytes_ -= known_[count_].bytes;
      }
      mem_free_(at);
    }
  }

 private:
  static constexpr int kMost = 512;
  struct Known {
    TransferContent content;
    uint64_t bytes, context, at;
  };
  Known known_[kMost];
  int count_;
  uint64_t bytes_, limit_;
  bool over_;
  CUresult (*mem_alloc_)(CUdeviceptr*, size_t);
  CUresult (*mem_free_)(CUdeviceptr);
  CUresult (*mem_get_info_)(size_t*, size_t*);
};

}  // namespace diogenes::corrector
