// Where copies are corrected: sources on the host whose bytes are known. They stay what they are until the program writes there,
// which a guard sees, or the GPU, by work that it is given. Serialised by the collector's lock.
#pragma once
#include "agent/watching/guard/guards.h"
#include "base/range.h"

namespace diogenes::agent::facts {

class UnwrittenSources {
 public:
  // Whole pages that nobody but this process writes. 0: they cannot be watched, or too many are.
  uint32_t watch(AddressRange pages, bool own_pages);
  bool is_unwritten(uint32_t watch) const;  // since then
  void end(uint32_t watch);
  // Work was given that may write there.
  void note_work(AddressRange written);
  void note_unknown_work() { note_work({0, ~uintptr_t{0}}); }
  void reset() { *this = {}; }  // guards are gone

 private:
  static constexpr uint32_t kSources = 64;
  struct Source {
    AddressRange pages;
    GuardHandle guard;  // kNoGuard: free
    bool written;       // by the GPU
  };
  Source sources_[kSources];
};

}  // namespace diogenes::agent::facts
