// What the launcher says, and how it exits. Everything goes to stderr, one line a message, so that the
// program's own stdout stays its own. Colour and progress only where stderr is a terminal that can show them.
#pragma once
#include <string>
#include <string_view>

#include "base/units.h"

namespace diogenes::launcher {

// Exit statuses of our own; beside them a run exits as the program's first run did (128+N on a signal).
enum ExitStatus : int {
  kSuccess = 0,
  // doctor: something stands in the way; gate: more can be saved than is allowed; prove: results differ, or nothing
  // can be corrected
  kProblems = 1,
  kUsage = 2,
  kCannotSay = 3,  // gate: the session is not complete
  kTimeout = 124,
  kOwnFailure = 125,
  kNotExecutable = 126,
  kNotFound = 127,
};

// "diogenes: TEXT". Newlines inside TEXT become spaces: one message, one line.
void say(std::string_view text);

// say() with "error: " left out: the status says it. Returns `status`, for `return fail(kOwnFailure, ...)`.
int fail(int status, std::string_view text);

bool is_terminal(int fd);

// A terminal, TERM not dumb, NO_COLOR not set (or empty).
bool colors_wanted(int fd);

// Columns of the terminal at `fd`; 100 where there is none or it does not say.
int columns(int fd);

// The line of one step: `run 2 of 3, tracing: each operation and its wait ... 1.24 s, 1.03 x baseline`. Until that is known
// it counts seconds.
// Silent where stderr is not a terminal.
class Progress {
 public:
  // `shares_terminal`: the program writes to the same terminal, so the line is ended before it starts.
  void begin(std::string_view name, std::string_view what, bool shares_terminal);
  // How long it has taken, in place of what was said before. Said while the line is open and fits, and the terminal is
  // ours: a shell in front of us has it otherwise.
  void elapsed(Nanoseconds time);
  void end(std::string_view outcome);

 private:
  void erase_elapsed();

  std::string head_;
  size_t length_ = 0;   // of the line, without the time
  size_t elapsed_ = 0;  // of the time that stands there
  bool line_open_ = false;
};

// "12 s", "3 min 05 s", "1 h 02 min".
std::string elapsed_text(Nanoseconds time);

}  // namespace diogenes::launcher
