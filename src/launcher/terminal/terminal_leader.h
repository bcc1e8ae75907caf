// The process that holds a program's pseudo-terminal: a session has to have a leader, and a program that is to stop
// at Ctrl-Z a parent in its session. It starts the program as the job in the foreground, tells us what becomes of it,
// and does nothing else as long as we live.
//
//   our session:            diogenes
//                              |                          (we: the user's terminal, and our end of the other)
//   the terminal's session:  leader --- program ...       (the pseudo-terminal)
//
// If we die in the first run, it gives the user's terminal the modes back that it had, ends the program's input (by
// SIGHUP where it takes keys), and hands its output on until all who may write have gone. In later runs it dies with us, and the program with it.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>

#include "base/result.h"
#include "launcher/terminal/pseudo_terminal.h"

namespace diogenes::launcher {

class TerminalLeader {
 public:
  struct Event {
    int status = 0;      // as wait4() gives it
    bool ended = false;  // and what follows is set
    rusage usage{};
    size_t unread_size = 0;  // what was typed, and is read by nobody any more
    std::array<char, 4096> unread{};
  };

  TerminalLeader() = default;
  ~TerminalLeader();
  TerminalLeader(const TerminalLeader&) = delete;
  TerminalLeader& operator=(const TerminalLeader&) = delete;

  // Out: the program's process, which is a job of its own. `user`: the user's terminal, -1 in later runs.
  // `become_program`: runs in the program's process, which has the terminal by then, and does not return.
  Result<pid_t> start(const PseudoTerminal& terminal, int user, bool foreground, bool dies_with_us,
                      const std::function<void()>& become_program);

  // In the program's process: the leader's.
  pid_t started_by() const { return leader_; }

  int fd() const { return events_; }  // readable: there is an event, or the leader is gone
  std::optional<Event> next();
  bool gone() const { return gone_; }

  // Is the program's job the one that may read the terminal? `goes_on`: it was stopped, and is to go on.
  void set_foreground(bool foreground, bool goes_on = false);
  // The modes that the user's terminal gets if we die; null: they were not changed.
  void note_modes(const termios* modes);

 private:
  struct Shared;
  pid_t pid_ = -1, leader_ = -1;
  int events_ = -1;
  bool gone_ = false;
  Shared* shared_ = nullptr;
};

}  // namespace diogenes::launcher
