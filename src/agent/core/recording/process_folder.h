// This process's folder in the stage's: made at the first sign of CUDA, one a process, a new one after fork.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace diogenes::agent {

// Makes the folder and the `process` file. False: could not (disk, permissions); nothing is recorded then.
bool open_process_folder();

// Its path, or null where it is not open.
const char* process_folder();

// The process file, writable; null until the folder is open. Fields other than counters are written by one
// place each.
ProcessFile* process_file();

void count_drop(Drop cause);

// As it stands in the names of folders.
void host_name(char (&name)[64]);

// Changes when a forked child starts anew, so that per-thread state of the parent is recognised as stale.
uint32_t folder_generation();

// In a forked child: the parent's folder is not ours.
void forget_process_folder();

// A file that only grows, written through shared mappings. Space is allocated on disk before it is mapped, so
// that a full disk shows here and never as a SIGBUS. No descriptor is kept: programs close what they do not
// know. Maps [offset, offset + bytes) of the file, at `where` if given. Null: failed, counted.
void* map_file_part(const char* name, uint64_t offset, size_t bytes, void* where = nullptr);

}  // namespace diogenes::agent
