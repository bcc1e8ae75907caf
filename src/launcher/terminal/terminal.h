// The terminal that the explorer draws on, by ncurses. In: screens (views/explorer/screen.h). Out: keys, sizes, signals.
// It is given back as it was on every way out: by the destructor; when the program is stopped (Ctrl-Z); and, with what
// a signal handler may do, when the program crashes. One at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "views/explorer/key.h"
#include "views/explorer/screen.h"

namespace diogenes::launcher {

struct TerminalInput {
  std::vector<explorer::KeyPress> keys;
  bool redraw = false;  // the size changed, or something else has written there
  bool woken = false;   // `wake` has something to read
  int signal = 0;       // that asks the program to end
  bool gone = false;    // the terminal
};

class Terminal {
 public:
  // `terminfo`: a folder with descriptions of terminals, for a machine that has none.
  static Result<std::unique_ptr<Terminal>> open(const std::string& terminfo);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  explorer::Size size() const;
  void draw(const explorer::Screen& screen);
  // Until there is something, or `timeout_ms` have passed (-1: no limit). `wake`: a file descriptor; -1: none.
  TerminalInput wait(int wake, int timeout_ms);

 private:
  Terminal() = default;
  void read_keys(TerminalInput& input);
  void take_signals(TerminalInput& input);
  void stop();

  struct Curses;
  std::unique_ptr<Curses> curses_;
};

}  // namespace diogenes::launcher
