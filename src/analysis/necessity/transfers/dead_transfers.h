// Which copies and allocations were needless, judged from the same events as the synchronizations.
// In: a process's events, and the contents of its copies. Out: unused data and memory, and copies of what was
// there already, as evidence of the operations.
//
// An upload is unused if it was overwritten or released before any GPU work can have read it; a download if
// it was watched until then and nobody touched it; memory if no work named it. A finding that rests on
// kernels reaching memory only through their arguments says so. Source: docs/necessity.md.
#pragma once
#include <vector>

#include "analysis/necessity/transfers/repeated_copies.h"
#include "analysis/necessity/transfers/unused_downloads.h"
#include "analysis/necessity/transfers/unused_uploads.h"

namespace diogenes::necessity {

class TransferJudge : public EventSink {
 public:
  // Both outlive it.
  TransferJudge(const Process& process, const SiteTable& sites);
  void take(const Event& event) override;

  // After the last event.
  const std::vector<UnusedData>& unused() const { return unused_; }
  // Copies to the host that were used in part.
  std::vector<UnusedPart> unused_parts() const { return downloads_.parts(); }
  // Releases of host memory that a copy under way still read or wrote.
  const std::vector<OperationId>& in_use() const { return in_use_; }
  const std::vector<RepeatedCopies::Found>& repeated() const { return repeated_.found(); }

 private:
  static constexpr size_t kMostUnderWay = 4096;
  // A copy from or to host memory that nobody knows to be done.
  struct UnderWay {
    MemoryNumber memory;
    AddressRange range;
    StreamNumber stream;
    uint32_t tick = 0;
  };

  void work(const Event& event);
  void covers(const Event& event);
  void releases(const Event& event);

  const SiteTable& sites_;
  OrderStates views_;
  AccessHistory history_;
  std::vector<UnderWay> under_way_;
  std::vector<OperationId> in_use_;
  std::vector<UnusedData> unused_;
  UnusedUploads uploads_;
  UnusedDownloads downloads_;
  RepeatedCopies repeated_;
};

// Writes what was found to the evidence of its operations.
void note_findings(const TransferJudge& judge, Process& process);

}  // namespace diogenes::necessity
