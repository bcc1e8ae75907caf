// Does the program run Python? In: the files that a stage's processes had loaded. Source: their names, and
// what they export: an interpreter has _PyRuntime, whatever its file is called.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace diogenes::launcher {

// The files that a process of a stage had loaded. Source: its module map.
std::vector<std::string> loaded_files(const std::filesystem::path& process_folder);

bool runs_python(const std::filesystem::path& stage_folder);

// Is it an ELF file that exports this? False: it cannot be read, or is too large to be an interpreter.
bool exports(const std::filesystem::path& file, const char* symbol);

}  // namespace diogenes::launcher
