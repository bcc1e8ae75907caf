// The program that a command starts in the end, behind launchers, wrappers, scripts and their interpreters. In: the
// command's words. Nothing of the command is run, but a script that is called python is asked for its interpreter.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "launcher/process/program_file.h"

namespace diogenes::launcher {

struct StartedProgram {
  FoundProgram program;
  std::string through;  // the script that starts it, where that is no launcher such as mpirun; "": none
  std::string
      unclear;  // why it cannot be told what is started: one sentence; `program` is then the last that is known
};
StartedProgram started_program(const std::vector<std::string>& command);

// The words of the one command that a shell script becomes by `exec`. Empty: there is none, there are several, or what
// the name means depends on the script.
std::vector<std::string> command_of_script(const std::string& text);

}  // namespace diogenes::launcher
