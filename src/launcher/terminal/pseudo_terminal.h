// A pair of terminal ends of our own: the program has the one, we the other. And what makes two terminals alike to a
// program: their modes and their size.
#pragma once
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include <string>

#include "base/result.h"

namespace diogenes::launcher {

struct TerminalLook {
  termios modes{};
  winsize size{};
};

// Of the terminal behind `fd`; the usual modes and 24 lines of 80 columns where it does not tell.
TerminalLook look_of(int fd);

// Input goes to the program by the line, and the terminal does the editing.
bool takes_lines(const termios& modes);

// By the line, and not shown: a password.
bool is_secret(const termios& modes);

class PseudoTerminal {
 public:
  static Result<PseudoTerminal> open(const TerminalLook& look);
  PseudoTerminal(PseudoTerminal&& other) noexcept;
  ~PseudoTerminal();
  PseudoTerminal& operator=(PseudoTerminal&&) = delete;

  int ours() const { return ours_; }  // does not block; in packet mode (TIOCPKT)
  int programs() const { return programs_; }
  void close_programs();                    // once the program has it
  dev_t device() const { return device_; }  // of the program's end

 private:
  PseudoTerminal() = default;
  int ours_ = -1, programs_ = -1;
  dev_t device_ = 0;
};

}  // namespace diogenes::launcher
