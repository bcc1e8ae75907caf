// Writes this process's folder: process, modules, stacks and thread files (trace/format.h), through shared
// mappings that are allocated on disk before they are touched, so that a full disk is an error here and never
// a SIGBUS. No function allocates from the heap, throws, or waits for another thread. All are safe in a
// signal handler, except where said. A thread gets its file at its first record.
#pragma once
#include <ucontext.h>

#include <cstdint>

#include "agent/core/recording/process_folder.h"
#include "trace/fact_records.h"
#include "trace/format.h"

namespace diogenes::agent {

// Appends 32 bytes to the calling thread's file. False: dropped, and counted. `id`: of an operation, which it gets.
bool append_record(const void* record, OperationId* id);
template <typename Record>
bool append(const Record& record) {
  static_assert(sizeof(Record) == sizeof(OperationRecord));
  return append_record(&record, nullptr);
}
inline bool append(const OperationRecord& record, OperationId* id = nullptr) {
  OperationId own;  // an operation always takes a number
  return append_record(&record, id ? id : &own);
}

// Is the calling thread in append() just now, interrupted by a signal? Then it cannot append here.
bool is_appending();
void forget_thread_files();  // in a forked child
// The number of the calling thread in the trace, 0xffffffff: it has none (yet).
uint32_t own_thread_file();
// The calling thread is about to end: when it is gone, another may go on with its file.
void leave_thread_file();

// The id that the next operation appended by this thread will have. False: it will not be recorded.
bool next_operation(OperationId& id);

}  // namespace diogenes::agent
