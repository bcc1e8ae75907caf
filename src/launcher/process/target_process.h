// One run of the user's program, as its shell would have run it: same process group (so that the terminal's
// Ctrl-C and Ctrl-Z reach it by themselves), same descriptors, signal mask and dispositions. On top of that:
// a clock from exec to exit, a limit, and copies of what it reads and writes where the streams are relayed.
//
// The program stays in our process group. A signal sent to us alone is forwarded; one from the terminal has
// reached it already. If we are killed, it goes on, unless `ends_with_us`. At the time limit the program and
// its descendants get SIGTERM, and five seconds later SIGKILL.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "launcher/process/output_copy.h"

namespace diogenes::launcher {

// How the program gets one of its three standard descriptors.
struct StreamRoute {
  enum class Kind : uint8_t {
    inherit,  // ours
    open,     // `fd`, which the caller keeps
    relay,    // a pipe: stdin is read from `fd`, outputs are written to `fd` (-1: nowhere), and `copy` gets
              // every byte
    with_stdout,  // stderr only: the same pipe as stdout, so that the order of the two is kept
  };
  Kind kind = Kind::inherit;
  int fd = -1;
  OutputCopy* copy = nullptr;
  bool as_terminal = false;  // relayed outputs: a terminal in place of the pipe, as large as the user's
};

struct Target {
  std::filesystem::path program;         // what is executed
  std::vector<std::string> arguments;    // arguments[0] as the user typed it
  std::vector<std::string> environment;  // NAME=VALUE
  StreamRoute input, output, errors;
  Nanoseconds limit{0};           // 0: none
  bool ends_with_us = false;      // the program gets SIGKILL when this process dies
  std::function<void()> started;  // called once, when it has been executed
  // Called about once a second while it runs, with the time since it began. None: nobody wakes for it.
  std::function<void(Nanoseconds)> every_second;
};

struct TargetResult {
  int exec_error = 0;   // errno of a failed exec; nothing ran then
  int exit_status = 0;  // 128+N on a signal
  int signal = 0;       // that killed it; 0: it exited
  bool timed_out = false;
  int interrupted_by = 0;      // SIGINT, SIGTERM, SIGHUP or SIGQUIT that reached us during the run
  Nanoseconds runtime;         // exec to exit, CLOCK_MONOTONIC
  bool read_terminal = false;  // something was read from the terminal behind our stdin (terminal_reads.h)
  bool reader_left = false;    // whoever read a relayed output closed it: what we copied is cut short
  double cpu_s = 0;            // user + system, of the program and the children it waited for
};

// "exited with 3", "was killed by signal 11 (Segmentation fault)".
std::string ended_text(int exit_status, int signal);

// Returns when the program has exited and its relayed output is drained. Errors are our own (no pipe, no
// process).
Result<TargetResult> run_target(const Target& target);

}  // namespace diogenes::launcher
