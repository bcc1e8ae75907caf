// Which copies that brought the same bytes as an earlier one are duplicates for certain. What they brought is
// known from hashes (HashRecord); here it is checked that it could not have been anything else.
//
// To the host: a duplicate only where no GPU work wrote the source since; else it is a result that had the
// same value. To the device: its readers must be ordered behind the copy that it repeats.
// In: work with what it is ordered after. Out: the copies whose finding does not hold.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/necessity/access_history.h"
#include "analysis/necessity/views.h"
#include "analysis/run.h"

namespace diogenes::necessity {

class RepeatedCopies {
 public:
  RepeatedCopies(const Process& process, const AccessHistory& history);

  // Before the history has it. `downloads`: a copy from the device to the host.
  void work(const Event& event, const Point& point, bool downloads);

  struct Refuted {
    OperationId operation;
    Duplicate instead = Duplicate::none;
  };
  const std::vector<Refuted>& refuted() const { return refuted_; }

 private:
  // A copy that later ones repeat.
  struct First {
    OperationId operation;
    AddressRange source;  // to the host: no GPU work has written it since
    StreamNumber stream;
    uint32_t tick = 0;
  };
  static uint64_t key(OperationId id) { return (uint64_t{id.thread} << 32) | id.sequence; }
  const Evidence* evidence(OperationId id) const;
  bool source_is_unchanged(const Event& event, OperationId first) const;

  const AccessHistory& history_;
  std::unordered_map<uint32_t, const Thread*> threads_;
  std::unordered_set<uint64_t> are_first_;
  std::unordered_map<MemoryNumber, std::vector<First>> downloads_;  // by source
  std::unordered_map<uint64_t, First> uploads_;
  std::vector<Refuted> refuted_;
};

}  // namespace diogenes::necessity
