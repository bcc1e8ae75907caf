// The file that the user's command names: found as the shell finds it, and looked at before it runs.
#pragma once
#include <filesystem>
#include <string>

namespace diogenes::launcher {

// What exec would run for `name`, by PATH as execvp does. On failure `status` is 126 (found, cannot be
// executed) or 127.
struct FoundProgram {
  std::filesystem::path path;
  int status = 0;       // 0: found
  std::string problem;  // one line
};
FoundProgram find_program(const std::string& name);

// The line and the status (126 or 127) for an exec that failed although the file was found.
FoundProgram exec_problem(const std::filesystem::path& program, int exec_error);

// Linked statically: the dynamic linker, and with it LD_PRELOAD, never runs. False for scripts and what
// cannot be read.
bool is_static(const std::filesystem::path& program);

// An ELF file for another processor or word size than the agent's.
bool is_foreign(const std::filesystem::path& program);

}  // namespace diogenes::launcher
