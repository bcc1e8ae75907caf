// The file of this process (trace/nvtx_ranges.h): made at the first call, a new one after a fork. Wait-free but for the
// system calls that make the file and its parts: whoever comes first makes them, who comes at the same time makes them as
// well and lets go of them again. Space is allocated on disk before it is mapped, so that a full disk is counted and never a
// SIGBUS; no descriptor is kept, because programs close what they do not know.
#pragma once
#include <cstdint>

#include "nvtx/names.h"

namespace diogenes::nvtx {

// In the library's constructor. False: there is no such folder's name, and nothing is written.
bool set_folder(const char* plan);

int64_t now_ns();

// A range of the region's name was entered: when this returns, so that making the file lies before it.
void write_begin();
// ... was left.
void write_end(int64_t at_ns);
void count_lost();

// A name was registered, or a range of it was entered. `name` null: it was registered before.
void write_name(uint64_t hash, const Name* name, bool entered);

}  // namespace diogenes::nvtx
