// Sources of copies whose content is known without reading it again: nobody has written there since. Where the same bytes came
// twice from one place, that place is watched (trace/corrector_services.h). Under the corrector's lock.
#pragma once
#include "trace/corrector_services.h"

namespace diogenes::corrector {

class KnownSources {
 public:
  void start(const CorrectorServices& services) { services_ = &services; }

  // False: it is to be read, and what came of that remembered, with the same `reading`.
  bool find(uint64_t host, uint64_t bytes, TransferContent* content, uint32_t* reading);
  void remember(uint64_t host, uint64_t bytes, const TransferContent& content, uint32_t reading);

 private:
  static constexpr uint32_t kSources = 64;
  static constexpr uint32_t kMostWrites = 3;  // in a row; then it is watched no more
  struct Source {
    uint64_t host, bytes;
    TransferContent content, ends;  // ends: of the parts of pages at both ends, which are read each time
    uint32_t watch;                 // 0: not watched
    uint32_t reading;               // the first one since it is watched
    uint32_t writes;                // that were seen since it was last found unwritten
    bool was_read, is_known;        // is_known: the content is what was read since it is watched
  };
  Source& place_of(uint64_t host) { return sources_[(host >> 6) * 0x9e3779b97f4a7c15 >> 58]; }
  bool read_ends(const Source& source, TransferContent* content) const;
  bool is_unwritten(const Source& source) const;
  void watch(Source& source);
  void end_watch(Source& source);

  Source sources_[kSources];
  uint32_t readings_;
  const CorrectorServices* services_;
};

}  // namespace diogenes::corrector
