// What one call means, as the driver's documentation and the measurements have it (docs/driver-facts.md):
// whether it gives work, and what a wait inside it covers. Free of any state.
#pragma once
#include "analysis/necessity/events.h"
#include "analysis/necessity/interpret/record_cursor.h"
#include "driver/catalogue.h"

namespace diogenes::necessity {

// One call, decoded once.
struct CallView {
  const RecordedCall& recorded;
  const DriverFunction& driver;
  OperationId operation;
  ThreadNumber thread;
  uint32_t ordinal = 0;  // of its thread's file
  SiteIndex site;

  const OperationRecord& record() const { return *recorded.operation; }
  bool has(OperationFlag flag) const { return (record().flags & flag) != 0; }
  bool has(CallFlag flag) const { return recorded.call && (recorded.call->flags & flag); }
  uint16_t context() const { return recorded.call ? recorded.call->context : uint16_t{0}; }
  // Its work is ordered by the stream that it names.
  bool stream_ordered() const { return driver.stream_argument >= 0; }
};

// Does the call give GPU work to its stream? By its record, or where that is missing by its role.
bool gives_work(const CallView& call);

// A copy or fill of no bytes at all: it does nothing, and waits for nothing.
bool moves_nothing(const CallView& call);

// Work of this role has operands; a call without a list has lost it.
bool needs_operands(const CallView& call);

struct BlockingCopy {
  bool covers_earlier = false;  // what its stream had to do before
  bool covers_itself = false;   // and the copy, too
};
BlockingCopy blocking_copy(const CallView& call);

// A call that succeeded and has waited, or would have, had there been something to wait for: how fast the GPU
// was in this run says nothing of who needs the wait.
bool is_wait(const CallView& call, const BlockingCopy& copy);

// `new_work`: it covers work that no earlier wait is known to have covered.
Wait wait_of(const CallView& call, const BlockingCopy& copy, bool new_work);

// Why a range stands open, as a Reason.
uint32_t reason_of(WatchRefusal refusal);

}  // namespace diogenes::necessity
