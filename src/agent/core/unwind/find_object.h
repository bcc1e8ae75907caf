// The file that has an instruction, for libgcc's unwinder inside the agent. It asks glibc's _dl_find_object(), which a glibc older
// than 2.35 does not have; there the list of loaded files is walked, without the dynamic linker's lock.
#pragma once
#include <dlfcn.h>

namespace diogenes::agent {

// As _dl_find_object(): 0, or -1 where no file has it. `dlfo_link_map` stays null; libgcc does not look at it here.
int find_object_by_walk(void* address, dl_find_object* found);

}  // namespace diogenes::agent
