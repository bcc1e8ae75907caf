// Stage 2: when one thread let another go on, for the schedule of threads (analysis/replay/thread_order.h). Verdicts need
// what a thread tells others (order_records.h); times need each hand-over, and no releases that nobody followed. So the
// acquiring side writes one record for both: who released last, and when. Barriers, starts and ends of threads are
// recorded as for verdicts, always.
//
// In: what the interposed functions see (order.h), in stage 2. Out: OrderRecords with kNamesRelease. An object that one
// thread alone uses costs a look into the table, without its lock.
#pragma once
#include "agent/watching/order/order.h"

namespace diogenes::agent {

void hand_on(OrderObject kind, const void* object);
void take_over(OrderObject kind, const void* object, uint8_t flags, Blocked blocked);

}  // namespace diogenes::agent
