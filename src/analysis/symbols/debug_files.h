// Where a file's separate debug file may be. In: the file, as libdwfl asks for its debug file. Out: a descriptor of it, or -1.
// Nothing is asked of a network: libdwfl would load a client for that, with the thirty libraries that it needs, for each file
// whose debug file is nowhere. May be called by several threads, of files of their own.
#pragma once
#include <elfutils/libdwfl.h>

#include <filesystem>
#include <string>
#include <vector>

namespace diogenes {

// As Dwfl_Callbacks::find_debuginfo.
int find_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base, const char* file,
                    const char* debug_link, GElf_Word debug_link_crc, char** found);

// Where libdwfl looks for it: beside the file, in .debug there, below /usr/lib/debug; the same of what a link leads to.
// `name`: as the file tells it, or "FILE.debug".
std::vector<std::filesystem::path> debug_file_places(const std::filesystem::path& file,
                                                     const std::string& name);

}  // namespace diogenes
