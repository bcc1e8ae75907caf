// Between the user's terminal and a program's pseudo-terminal, or in later runs between what was typed and that.
//
// The user's terminal is left as it is until the program wants input from it: it stands still for a line, or has
// changed its terminal's modes (an editor, a password). Then it is taken: every key goes to the program's terminal,
// which does all editing, echo and signals. When the program computes again, it is given back, so that what is typed
// meanwhile stays for whoever reads next. Programs that never read the terminal never have it taken. (A key pressed
// in the moment before it is taken has been shown already; its echo by the program's terminal is left out.)
// A line that nobody stands still for is handed over after a second, for programs that look for input now and then;
// what the program has not read in the end is given back where the kernel allows it (TIOCSTI).
//
// Later runs get each line when they stand still for it. A program that looked for input without standing still gets
// it as long after the last as in the first run. When all is played back, they read the end of the input.
#pragma once
#include <poll.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "launcher/process/output_copy.h"
#include "launcher/terminal/pseudo_terminal.h"
#include "launcher/terminal/terminal_leader.h"
#include "launcher/terminal/terminal_wait.h"
#include "launcher/terminal/typed_input.h"

namespace diogenes::launcher {

struct TerminalRoute {
  int user = -1;                   // the user's terminal, not blocking where possible; -1: a later run
  TypedInput* typed = nullptr;     // `user`: what is typed goes there; else it is played back from there
  OutputCopy* copy = nullptr;      // what the program wrote to the terminal; null: none
  bool hands_over_unasked = true;  // false: others may read the terminal at the same time (a pager)
};

class TerminalRelay {
 public:
  TerminalRelay(const TerminalRoute& route, PseudoTerminal& terminal);
  ~TerminalRelay();
  TerminalRelay(const TerminalRelay&) = delete;
  TerminalRelay& operator=(const TerminalRelay&) = delete;

  bool in_foreground() const;  // our job, on the user's terminal; later runs: always
  void begin(TerminalLeader& leader, pid_t program, Nanoseconds now);

  void add_to(std::vector<pollfd>& polled);  // what it waits for now; remembers the positions
  bool serve(const std::vector<pollfd>& polled, Nanoseconds now);  // true: output moved
  int milliseconds(Nanoseconds now) const;                         // until it has to look again
  bool done() const { return output_ended_ && shown_.empty(); }
  void stop();  // no more output

  void show_what_is_there();  // before we stop
  void size_changed();
  void give_back();                 // before we stop, or end
  void note_stop(Nanoseconds now);  // Ctrl-Z at the user's terminal while it is not taken: it is played back
  void forget_stop();  // the Ctrl-Z that was typed last stopped the program itself: it is not played back
  bool typed_stop() { return std::exchange(typed_stop_, false); }  // Ctrl-Z, since this was asked last
  void look_soon() { next_look_ = {}; }
  void lose_user();  // the user's terminal is gone, or not ours to read any more
  void program_ended(const TerminalLeader::Event& event);

  Nanoseconds waited_for_user() const { return waited_; }
  int typed_signal() const { return typed_signal_; }  // of Ctrl-C and the like; 0: none
  bool asked_for_more() const { return asked_for_more_; }
  bool drew() const { return drew_; }  // the program took keys: what it writes is no text by the line

 private:
  bool fill();
  bool empty();
  void look_at_modes();
  void keep_copy(std::string_view bytes);
  static void skip_echo(std::string& expected, std::string_view& bytes);
  void read_user(Nanoseconds now);
  void take_keys(std::string_view keys, Nanoseconds now);
  void hand_over(std::string bytes, bool asked, Nanoseconds now);
  void send(std::string_view bytes);
  void expect_echo(std::string_view bytes);
  void look(Nanoseconds now);
  void look_at_user(const TerminalWait& wait, Nanoseconds now);
  void count_waiting(const TerminalWait& wait, Nanoseconds now);
  void end_waiting(Nanoseconds now);
  void play(const TerminalWait& wait, Nanoseconds now);
  void take();
  bool set_modes(const termios& modes) const;

  TerminalRoute route_;
  PseudoTerminal& terminal_;
  TerminalLeader* leader_ = nullptr;
  pid_t program_ = -1;
  termios first_modes_{}, modes_{};  // of the program's terminal
  termios users_{}, shown_modes_{};  // of the user's: before it was taken, and now
  bool taken_ = false, foreground_ = false, drew_ = false, program_runs_ = false;
  int ours_position_ = -1, user_in_position_ = -1, user_out_position_ = -1;

  std::vector<char> buffer_;
  std::string shown_;  // output that the user's terminal has not taken yet
  bool output_ended_ = false, owes_return_ = false, copy_owes_return_ = false;

  std::string unsent_, held_;
  std::string echo_, stop_echo_;  // output to leave out: everywhere, in the copy
  size_t shown_already_ = 0;      // so many of the next bytes have been shown by the user's terminal
  bool quoted_ = false;           // the next key is meant literally
  Nanoseconds held_since_, last_piece_, next_look_, last_look_, cpu_, person_since_, waited_;
  TerminalWait wait_;
  int typed_signal_ = 0;
  bool typed_stop_ = false;

  size_t played_ = 0;
  uint64_t answered_turn_ = 0;  // what was played last was the answer to this wait
  bool asked_for_more_ = false;
  int ends_ = 0;  // so often it was told that there are no more keys
};

}  // namespace diogenes::launcher
