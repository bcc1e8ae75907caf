#include "launcher/terminal/terminal.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "launcher/command_line/messages.h"
#include "launcher/terminal/terminal_bytes.h"
#include "launcher/terminal/terminal_signals.h"

namespace diogenes::launcher {
namespace {

using explorer::Key;
using explorer::KeyPress;
using explorer::Style;

constexpr int kEscapeDelayMs = 100;  // within which the rest of an arrow key's sequence arrives

SCREEN* screen_of(const char* name) { return newterm(name, stdout, stdin); }

// By the description of this terminal; else by one that most terminals understand.
SCREEN* new_screen(const std::string& terminfo) {
  if (SCREEN* screen = screen_of(nullptr)) return screen;
  for (const bool own_folder : {false, true}) {
    if (own_folder) setenv("TERMINFO_DIRS", terminfo.c_str(), 1);
    if (own_folder)
      if (SCREEN* screen = screen_of(nullptr)) return screen;
    for (const char* name : {"xterm-256color", "xterm", "vt100"})
      if (SCREEN* screen = screen_of(name)) return screen;
  }
  return nullptr;
}

Key key_of(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_LEFT:
      return Key::left;
    case KEY_RIGHT:
      return Key::right;
    case KEY_HOME:
    case KEY_FIND:
      return Key::home;
    case KEY_END:
    case KEY_SELECT:
      return Key::end;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_ENTER:
      return Key::enter;
    case KEY_BACKSPACE:
      return Key::backspace;
    case KEY_BTAB:
      return Key::back_tab;
    default:
      return Key::other;
  }
}

constexpr wint_t control(char letter) { return static_cast<wint_t>(letter) & 0x1f; }

KeyPress press_of(wint_t character) {
  if (character == '\n' || character == '\r') return {Key::enter};
  if (character == '\t') return {Key::tab};
  if (character == control('[')) return {Key::escape};
  if (character == control('h') || character == 0x7f) return {Key::backspace};
  if (character == control('f') || character == control('d')) return {Key::page_down};
  if (character == control('b') || character == control('u')) return {Key::page_up};
  if (character < 0x20) return {Key::other};
  return {Key::character, static_cast<char32_t>(character)};
}

}  // namespace

struct Terminal::Curses {
  SCREEN* screen = nullptr;
  bool color = false, utf8 = false;
  int signals = -1;

  attr_t attributes(Style style) const {
    switch (style) {
      case Style::plain:
        return A_NORMAL;
      case Style::bold:
        return A_BOLD;
      case Style::faint:
        return A_DIM;
      case Style::gain:
        return A_BOLD | (color ? COLOR_PAIR(1) : A_NORMAL);
      case Style::warning:
        return A_BOLD | (color ? COLOR_PAIR(2) : A_NORMAL);
      case Style::found:
        return A_BOLD | A_UNDERLINE | (color ? COLOR_PAIR(2) : A_NORMAL);
    }
    return A_NORMAL;
  }
};

Result<std::unique_ptr<Terminal>> Terminal::open(const std::string& terminfo) {
  setlocale(LC_CTYPE, "");
  termios modes{};
  if (tcgetattr(STDIN_FILENO, &modes) != 0) return error("the terminal cannot be asked for its modes");
  std::unique_ptr<Terminal> terminal(new Terminal);
  terminal->curses_ = std::make_unique<Curses>();
  Curses& curses = *terminal->curses_;
  curses.screen = new_screen(terminfo);
  if (!curses.screen) return error("this terminal (TERM=%s) is not known", getenv("TERM"));
  set_term(curses.screen);
  Result<int> signals = watch_signals(STDIN_FILENO, modes, restoring_bytes());
  if (!signals) return signals.error();
  curses.signals = *signals;
  curses.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeDelayMs);
  leaveok(stdscr, FALSE);
  curs_set(0);
  if (colors_wanted(STDOUT_FILENO) && has_colors() && start_color() == OK && use_default_colors() == OK) {
    init_pair(1, COLOR_GREEN, -1);
    init_pair(2, COLOR_YELLOW, -1);
    curses.color = true;
  }
  return terminal;
}

Terminal::~Terminal() {
  if (!curses_ || !curses_->screen) return;
  endwin();
  if (curses_->signals >= 0) unwatch_signals();
  delscreen(curses_->screen);
}

explorer::Size Terminal::size() const {
  return {static_cast<size_t>(std::max(getmaxx(stdscr), 1)),
          static_cast<size_t>(std::max(getmaxy(stdscr), 1))};
}

void Terminal::draw(const explorer::Screen& screen) {
  erase();
  const int lines = getmaxy(stdscr), columns = getmaxx(stdscr);
  for (int y = 0; y < lines && y < static_cast<int>(screen.lines.size()); ++y) {
    const explorer::Line& line = screen.lines[static_cast<size_t>(y)];
    const attr_t chosen = line.selected ? A_REVERSE : A_NORMAL;
    move(y, 0);
    for (const explorer::Span& span : line.spans) {
      // Faint and reverse together cannot be read on some terminals.
      const attr_t attributes =
          curses_->attributes(line.selected && span.style == Style::faint ? Style::plain : span.style);
      attrset(static_cast<int>(attributes | chosen));
      std::string text = span.text;
      if (!curses_->utf8)
        std::replace_if(
            text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
      addstr(text.c_str());
    }
    if (line.selected) {
      attrset(A_REVERSE);
      // Up to the last column, and not over it.
      for (int x = getcurx(stdscr); getcury(stdscr) == y && x < columns; ++x) addch(' ');
    }
  }
  attrset(A_NORMAL);
  curs_set(screen.cursor ? 1 : 0);
  if (screen.cursor) move(lines - 1, std::min(columns - 1, static_cast<int>(*screen.cursor)));
  refresh();
}

TerminalInput Terminal::wait(int wake, int timeout_ms) {
  TerminalInput input;
  pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {curses_->signals, POLLIN, 0}, {wake, POLLIN, 0}};
  poll(files, wake >= 0 ? 3 : 2, timeout_ms);  // interrupted by a signal: it is in the pipe
  take_signals(input);
  input.woken = wake >= 0 && (files[2].revents & POLLIN) != 0;
  if (files[0].revents & POLLIN) read_keys(input);
  const bool nothing = input.keys.empty() && (files[0].revents & POLLIN) == 0;
  if ((files[0].revents & (POLLERR | POLLNVAL)) || ((files[0].revents & POLLHUP) && nothing))
    input.gone = true;
  return input;
}

void Terminal::read_keys(TerminalInput& input) {
  bool any = false;
  wint_t code = 0;
  for (int kind; (kind = get_wch(&code)) != ERR; any = true) {
    if (kind == KEY_CODE_YES && code == KEY_RESIZE) {
      input.redraw = true;
    } else if (kind == KEY_CODE_YES) {
      input.keys.push_back({key_of(code)});
    } else if (code == control('l')) {
      clearok(curscr, TRUE);
      input.redraw = true;
    } else {
      input.keys.push_back(press_of(code));
    }
  }
  // Readable without anything to read: the other end is closed.
  int left = 0;
  if (!any && (ioctl(STDIN_FILENO, FIONREAD, &left) != 0 || left == 0)) {
    pollfd file{STDIN_FILENO, POLLIN, 0};
    input.gone = poll(&file, 1, 0) == 1;
  }
}

void Terminal::take_signals(TerminalInput& input) {
  unsigned char bytes[64];
  for (ssize_t count; (count = read(curses_->signals, bytes, sizeof bytes)) > 0;)
    for (ssize_t i = 0; i < count; ++i) {
      if (bytes[i] == SIGTSTP) {
        stop();
        input.redraw = true;
      } else if (bytes[i] == SIGWINCH || bytes[i] == SIGCONT) {
        if (bytes[i] == SIGCONT) {
          reset_prog_mode();
          clearok(curscr, TRUE);
        }
        input.redraw = true;
      } else {
        input.signal = bytes[i];
      }
    }
  if (!input.redraw) return;
  winsize size{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
      (size.ws_row != getmaxy(stdscr) || size.ws_col != getmaxx(stdscr)))
    resizeterm(size.ws_row, size.ws_col);
}

void Terminal::stop() {
  def_prog_mode();
  endwin();
  stop_here();
  reset_prog_mode();
  clearok(curscr, TRUE);
}

}  // namespace diogenes::launcher
