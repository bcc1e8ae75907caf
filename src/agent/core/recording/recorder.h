// Writes this process's folder: process, modules, stacks and thread files (trace/format.h), through shared
// mappings that are allocated on disk before they are touched, so that a full disk is an error here and never
// a SIGBUS. No function allocates from the heap, throws, or waits for another thread. All are safe in a
// signal handler, except where said. A thread gets its file at its first record.
#pragma once
#include <ucontext.h>

#include <cstdint>

#include "trace/fact_records.h"
#include "trace/format.h"

namespace diogenes::agent {

// Appends to the calling thread's file. False: dropped, and counted.
// `sequence`, where given, gets the operation's id.
bool append(const OperationRecord& record, OperationId* id = nullptr);
bool append(const TransferRecord& record);
bool append(const AllocationRecord& record);
bool append(const HashRecord& record);
bool append(const GpuTimeRecord& record);
bool append(const ClockReadRecord& record);
bool append(const RecordingRecord& record);
bool append(const CallRecord& record);
bool append(const StreamRecord& record);
bool append(const WatchRecord& record);
bool append(const TouchRecord& record);
bool append(const UnwatchRecord& record);
bool append(const MemoryEventRecord& record);
bool append(const OrderRecord& record);
bool append(const PeerAccessRecord& record);
bool append(const ValueRecord& record);

// Is the calling thread in append() just now, interrupted by a signal? Then it cannot append here.
bool is_appending();
// The number of the calling thread in the trace, 0xffffffff: it has none (yet).
uint32_t own_thread_file();
// The calling thread ends: others may go on with its file. What it records yet is another thread's.
void leave_thread_file();

// The id that the next operation appended by this thread will have. False: it will not be recorded.
bool next_operation(OperationId& id);

void count_drop(Drop cause);

// The process file, writable; null until the folder is open. Fields other than counters are written by one
// place each.
ProcessFile* process_file();

}  // namespace diogenes::agent
