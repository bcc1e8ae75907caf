// The records of when a range was watched, and what ended that (trace/format.h: WatchRecord, TouchRecord,
// UnwatchRecord). A touch is written by the thread that touched, in its signal handler, where its file can be
// written just then; otherwise it is kept here, and written as `late` by whoever comes next.
#pragma once
#include <cstdint>

#include "agent/watching/guard/guard.h"
#include "trace/fact_records.h"

namespace diogenes::agent {

uint32_t next_watch();  // the number of a watch to be raised, from 1

// `at`: before the guard went up, so that no touch is earlier.
void record_watch(uint32_t watch, AddressRange range, Protection protection, Nanoseconds at);
void record_refusal(AddressRange range, WatchRefusal refusal);

// Under the table's lock, by the thread that ended the watch; `nobody`: it was lowered.
void record_watch_end(uint32_t watch, const Touch& touch);
// Outside of it: writes what could not be written then.
void record_late_ends();

}  // namespace diogenes::agent
