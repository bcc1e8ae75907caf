#include "launcher/terminal/terminal_relay.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace diogenes::launcher {
namespace {

constexpr Nanoseconds kUserLook{50'000'000}, kSoon{10'000'000}, kPlayLook{4'000'000};
constexpr int64_t kLooksShare = 100;  // looking takes no more than this part of a processor
constexpr int kMostEnds = 3;
constexpr Nanoseconds kPatience{1'000'000'000};  // then a line that nobody waits for is handed over

bool same_modes(const termios& one, const termios& other) {
  return one.c_lflag == other.c_lflag && one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag &&
         memcmp(one.c_cc, other.c_cc, sizeof one.c_cc) == 0;
}

bool adds_returns(const termios& modes) { return (modes.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR); }

// A terminal puts a return before each new line; where another one will do so again, it is left out here. `owed`: the
// bytes before ended with a return of which it is not known.
std::string without_returns(std::string_view bytes, bool& owed, bool leaves_out) {
  std::string text;
  text.reserve(bytes.size() + 1);
  for (const char byte : bytes) {
    if (std::exchange(owed, false) && byte != '\n') text += '\r';
    if (byte == '\r' && leaves_out)
      owed = true;
    else
      text += byte;
  }
  return text;
}

bool readable(int fd) {
  pollfd file{fd, POLLIN, 0};
  return poll(&file, 1, 0) == 1 && (file.revents & POLLIN);
}

}  // namespace

TerminalRelay::TerminalRelay(const TerminalRoute& route, PseudoTerminal& terminal)
    : route_(route), terminal_(terminal), buffer_(size_t{1} << 16) {
  tcgetattr(terminal_.ours(), &first_modes_);
  modes_ = users_ = shown_modes_ = first_modes_;
}

TerminalRelay::~TerminalRelay() { give_back(); }

bool TerminalRelay::in_foreground() const {
  if (route_.user < 0) return true;
  const pid_t job = tcgetpgrp(route_.user);
  return job < 0 || job == getpgrp();  // a terminal that is not our session's has no jobs of ours
}

void TerminalRelay::begin(TerminalLeader& leader, pid_t program, Nanoseconds now) {
  leader_ = &leader;
  program_ = program;
  program_runs_ = true;
  foreground_ = in_foreground();
  last_piece_ = last_look_ = now;
  next_look_ = now + kSoon;
}

void TerminalRelay::stop() {
  output_ended_ = true;
  shown_.clear();
}

// --- output

void TerminalRelay::add_to(std::vector<pollfd>& polled) {
  ours_position_ = user_in_position_ = user_out_position_ = -1;
  auto add = [&](int fd, short events) {
    polled.push_back({fd, events, 0});
    return static_cast<int>(polled.size()) - 1;
  };
  if (shown_.empty() && !output_ended_) ours_position_ = add(terminal_.ours(), POLLIN);
  if (!shown_.empty()) user_out_position_ = add(route_.user, POLLOUT);
  if (taken_ && program_runs_) user_in_position_ = add(route_.user, POLLIN);
}

bool TerminalRelay::serve(const std::vector<pollfd>& polled, Nanoseconds now) {
  auto ready = [&](int position) {
    return position >= 0 && polled[static_cast<size_t>(position)].revents != 0;
  };
  bool moved = false;
  if (ready(user_out_position_)) moved = empty();
  if (ready(ours_position_)) {
    moved = fill() || moved;
    next_look_ = std::min(next_look_, now + kSoon);
  }
  if (ready(user_in_position_) && taken_) read_user(now);
  if (program_runs_ && now >= next_look_) look(now);
  ours_position_ = user_in_position_ = user_out_position_ = -1;
  return moved;
}

int TerminalRelay::milliseconds(Nanoseconds now) const {
  if (!program_runs_) return -1;
  return static_cast<int>(std::clamp<int64_t>((next_look_ - now).count / 1'000'000 + 1, 0, 1000));
}

bool TerminalRelay::fill() {
  const ssize_t got = read(terminal_.ours(), buffer_.data(), buffer_.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {  // EIO: nobody has the program's end any more
    output_ended_ = true;
    return false;
  }
  // In packet mode, each read begins with what happened: 0 for data.
  if (const auto happened = static_cast<unsigned char>(buffer_[0]); happened != 0) {
    // The program threw away what was typed and not read.
    if ((happened & TIOCPKT_FLUSHREAD) && program_runs_) {
      held_.clear();
      shown_already_ = 0;
      if (route_.user >= 0 && in_foreground()) tcflush(route_.user, TCIFLUSH);
    }
    return false;
  }
  look_at_modes();
  std::string_view bytes(buffer_.data() + 1, static_cast<size_t>(got) - 1);
  keep_copy(bytes);
  skip_echo(echo_, bytes);
  if (route_.user >= 0)
    shown_ = without_returns(bytes, owes_return_, adds_returns(modes_) && adds_returns(shown_modes_));
  return true;
}

// Before the program's next output is shown: a prompt for a password comes behind the change of modes.
void TerminalRelay::look_at_modes() {
  if (tcgetattr(terminal_.ours(), &modes_) != 0) return;
  if (!takes_lines(modes_)) drew_ = true;
  if (!program_runs_ || route_.user < 0) return;
  if (!same_modes(modes_, first_modes_)) take();
  if (taken_ && modes_.c_oflag != shown_modes_.c_oflag) {
    shown_modes_.c_oflag = modes_.c_oflag;
    set_modes(shown_modes_);
  }
}

// The copy has line ends as the program wrote them, and no trace of Ctrl-Z.
void TerminalRelay::keep_copy(std::string_view bytes) {
  skip_echo(stop_echo_, bytes);
  if (!route_.copy) return;
  const std::string text = without_returns(bytes, copy_owes_return_, adds_returns(modes_));
  route_.copy->add({text.data(), text.size()});
}

void TerminalRelay::skip_echo(std::string& expected, std::string_view& bytes) {
  const size_t same = std::min(bytes.size(), expected.size());
  if (bytes.substr(0, same) != std::string_view(expected).substr(0, same)) {
    expected.clear();
    return;
  }
  expected.erase(0, same);
  bytes.remove_prefix(same);
}

bool TerminalRelay::empty() {
  const ssize_t written = write(route_.user, shown_.data(), std::min<size_t>(shown_.size(), 4096));
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (written < 0) {  // the user's terminal is gone; the program is told by a signal, or goes on without
    lose_user();
    return false;
  }
  shown_.erase(0, static_cast<size_t>(written));
  return true;
}

void TerminalRelay::show_what_is_there() {
  const Nanoseconds begin = monotonic_now();
  while (monotonic_now() - begin < kPatience) {
    if (shown_.empty() && (output_ended_ || !readable(terminal_.ours()) || (!fill() && shown_.empty())))
      return;
    pollfd file{route_.user, POLLOUT, 0};
    if (!shown_.empty() && poll(&file, 1, 100) == 1) empty();
  }
}

// --- the user's terminal

bool TerminalRelay::set_modes(const termios& modes) const {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTTOU);
  sigprocmask(SIG_BLOCK, &set, &before);
  const bool good = tcsetattr(route_.user, TCSANOW, &modes) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return good;
}

void TerminalRelay::take() {
  if (taken_ || route_.user < 0 || !foreground_ || tcgetattr(route_.user, &users_) != 0) return;
  termios raw = users_;
  raw.c_iflag &= ~static_cast<tcflag_t>(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
  raw.c_oflag = modes_.c_oflag;  // so that what others write there looks as it would
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  leader_->note_modes(&users_);
  if (!set_modes(raw)) return leader_->note_modes(nullptr);
  shown_modes_ = raw;
  taken_ = true;
  int typed = 0;
  if (users_.c_lflag & ECHO && ioctl(route_.user, FIONREAD, &typed) == 0)
    shown_already_ = static_cast<size_t>(typed);
}

void TerminalRelay::give_back() {
  if (!taken_) return;
  // In the background it is the shell's, which has set it as it likes.
  if (in_foreground()) set_modes(users_);
  taken_ = false;
  shown_modes_ = users_;
  leader_->note_modes(nullptr);
}

void TerminalRelay::lose_user() {
  if (route_.user < 0) return;
  give_back();
  end_waiting(monotonic_now());
  route_.user = -1;
  shown_.clear();
  played_ = route_.typed->pieces().size();  // what follows is the end of the input
}

void TerminalRelay::size_changed() {
  winsize size{};
  if (route_.user >= 0 && ioctl(route_.user, TIOCGWINSZ, &size) == 0)
    ioctl(terminal_.ours(), TIOCSWINSZ, &size);  // the kernel tells the program
}

void TerminalRelay::read_user(Nanoseconds now) {
  std::array<char, 4096> keys{};
  const ssize_t got = read(route_.user, keys.data(), keys.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose_user();
  const auto size = static_cast<size_t>(got);
  const size_t shown =
      std::min(size, std::exchange(shown_already_, shown_already_ - std::min(size, shown_already_)));
  for (size_t i = 0; i < shown; ++i)
    if (keys[i] == 0) keys[i] = static_cast<char>(modes_.c_cc[VEOF]);  // so is an end of input kept
  look_at_modes();
  wait_ = terminal_wait(program_, terminal_.device());
  expect_echo({keys.data(), shown});
  take_keys({keys.data(), size}, now);
  next_look_ = std::min(next_look_, now + kSoon);
}

// What the program's terminal will echo of keys that the user's has shown already.
void TerminalRelay::expect_echo(std::string_view bytes) {
  if (bytes.empty() || !takes_lines(modes_) || !(modes_.c_lflag & ECHO)) return;
  for (const char byte : bytes) {
    if (byte == '\n')
      echo_ += "\r\n";
    else if (byte == static_cast<char>(modes_.c_cc[VEOF]))
      continue;
    else if (static_cast<unsigned char>(byte) < 0x20 && byte != '\t')
      (echo_ += '^') += static_cast<char>(byte + 0x40);
    else
      echo_ += byte;
  }
}

// Keys that send a signal or hold the output act at once, whatever was typed before them; others wait until the
// program wants them.
void TerminalRelay::take_keys(std::string_view keys, Nanoseconds now) {
  for (const char key : keys) {
    auto is = [&](int which) {
      const cc_t special = modes_.c_cc[which];
      return special != _POSIX_VDISABLE && key == static_cast<char>(special);
    };
    if (!std::exchange(quoted_, false)) {
      const bool signals = (modes_.c_lflag & ISIG) != 0;
      const int signal = !signals ? 0 : is(VINTR) ? SIGINT : is(VQUIT) ? SIGQUIT : is(VSUSP) ? SIGTSTP : 0;
      if (signal != 0) {
        if (signal != SIGTSTP) typed_signal_ = signal;
        // The program's terminal shows what was typed before, and forgets it, unless it is told not to.
        if (modes_.c_lflag & NOFLSH)
          hand_over(std::exchange(held_, {}), false, now);
        else
          send(std::exchange(held_, {}));
        // Ctrl-Z may be for a job of the program's, as under a shell: then it belongs to what was typed.
        typed_stop_ = signal == SIGTSTP;
        if (typed_stop_)
          hand_over(std::string(1, key), false, now);
        else
          send({&key, 1});
        continue;
      }
      if ((modes_.c_iflag & IXON) && (is(VSTART) || is(VSTOP))) {
        send({&key, 1});
        continue;
      }
      quoted_ = takes_lines(modes_) && (modes_.c_lflag & IEXTEN) && is(VLNEXT);
    }
    if (held_.empty()) held_since_ = now;
    held_ += key;
  }
  const bool asked = wait_.kind == TerminalWait::Kind::blocked;
  if (!held_.empty() && (asked || !takes_lines(modes_))) hand_over(std::exchange(held_, {}), asked, now);
}

void TerminalRelay::hand_over(std::string bytes, bool asked, Nanoseconds now) {
  end_waiting(now);
  if (bytes.empty()) return;
  send(bytes);
  route_.typed->add({.after = now - last_piece_,
                     .lines = takes_lines(modes_),
                     .secret = is_secret(modes_),
                     .asked = asked,
                     .bytes = std::move(bytes)});
  last_piece_ = now;
}

void TerminalRelay::send(std::string_view bytes) {
  const auto stop = static_cast<char>(modes_.c_cc[VSUSP]);
  constexpr tcflag_t kShown = ISIG | ECHO | ECHOCTL;
  if (bytes.size() == 1 && bytes[0] == stop && (modes_.c_lflag & kShown) == kShown)
    (stop_echo_ = '^') += static_cast<char>(stop ^ 0x40);
  unsent_ += bytes;
  const ssize_t sent = write(terminal_.ours(), unsent_.data(), unsent_.size());
  if (sent > 0) unsent_.erase(0, static_cast<size_t>(sent));
}

// Nobody waits for input just then: not even the shell whose job it stops, or a job between two lines.
void TerminalRelay::note_stop(Nanoseconds now) {
  look_at_modes();
  const cc_t stop = modes_.c_cc[VSUSP];
  if (route_.user < 0 || !(modes_.c_lflag & ISIG) || stop == _POSIX_VDISABLE) return;
  route_.typed->add({.after = now - last_piece_,
                     .lines = takes_lines(modes_),
                     .asked = false,
                     .bytes = std::string(1, static_cast<char>(stop))});
  last_piece_ = now;
}

void TerminalRelay::forget_stop() {
  const auto& pieces = route_.typed->pieces();
  if (route_.user >= 0 && !pieces.empty() &&
      pieces.back().bytes == std::string(1, static_cast<char>(modes_.c_cc[VSUSP])))
    route_.typed->drop_last();
}

// --- looking at the program

void TerminalRelay::look(Nanoseconds now) {
  if (route_.user >= 0) {
    const bool before = std::exchange(foreground_, in_foreground());
    if (before != foreground_) {
      leader_->set_foreground(foreground_);
      if (!foreground_) give_back();
    }
  }
  look_at_modes();
  // A return that is the last of the output for now: the rest of a new line would be there, too.
  if (owes_return_ && shown_.empty() && route_.user >= 0 && !readable(terminal_.ours())) {
    owes_return_ = false;
    shown_.assign(1, '\r');
  }
  if (!unsent_.empty()) send({});
  wait_ = terminal_wait(program_, terminal_.device());
  const Nanoseconds after = monotonic_now();
  if (route_.user >= 0)
    look_at_user(wait_, now);
  else
    play(wait_, now);
  const Nanoseconds usual = route_.user >= 0 ? kUserLook : kPlayLook;
  next_look_ = after + Nanoseconds{std::max(usual.count, kLooksShare * (after - now).count)};
  last_look_ = now;
  cpu_ = wait_.cpu;
}

void TerminalRelay::look_at_user(const TerminalWait& wait, Nanoseconds now) {
  using Kind = TerminalWait::Kind;
  count_waiting(wait, now);
  if (!foreground_) return;
  const bool wants = wait.kind == Kind::blocked || !same_modes(modes_, first_modes_);
  if (wants) take();
  const bool typed = held_.empty() && readable(route_.user);
  if (!taken_ && typed && held_since_.count == 0) held_since_ = now;
  const bool long_ago = held_since_.count != 0 && now - held_since_ >= kPatience;
  // A line for a program that does not stand still for it.
  const bool unasked = wait.kind == Kind::limited || !wait.known || (long_ago && route_.hands_over_unasked);
  if (!taken_ && typed && unasked) {
    take();
    if (taken_) read_user(now);
  }
  if (!held_.empty() && (wait.kind == Kind::blocked || unasked))
    hand_over(std::exchange(held_, {}), wait.kind == Kind::blocked, now);
  if (held_.empty() && (taken_ || !typed)) held_since_ = {};
  if (taken_ && !wants && held_.empty() && !readable(route_.user)) give_back();
}

// The time in which the whole program stands still for a person. A thread that waits for keys beside others that
// compute makes no such time.
void TerminalRelay::count_waiting(const TerminalWait& wait, Nanoseconds now) {
  const bool busy = 2 * (wait.cpu - cpu_).count > (now - last_look_).count;
  if (!wait.main_thread || busy) return end_waiting(now);
  if (person_since_.count == 0) person_since_ = now;
}

void TerminalRelay::end_waiting(Nanoseconds now) {
  if (person_since_.count != 0) waited_ += now - std::exchange(person_since_, {});
}

// --- later runs

void TerminalRelay::play(const TerminalWait& wait, Nanoseconds now) {
  using Kind = TerminalWait::Kind;
  // A wait that was answered lasts until the program's thread gets its turn.
  const bool stuck = now - last_piece_ >= kPatience;
  const bool blocked = wait.kind == Kind::blocked && (wait.turn != answered_turn_ || stuck);
  const auto& pieces = route_.typed->pieces();
  std::string bytes;
  if (played_ < pieces.size()) {
    const TypedPiece& piece = pieces[played_];
    const bool due = now - last_piece_ >= piece.after && piece.lines == takes_lines(modes_);
    if (blocked || (due && (!piece.asked || !wait.known))) bytes = route_.typed->next(played_);
  } else if (blocked) {
    asked_for_more_ = true;
    // Keys have no end. Who goes on asking for them at Ctrl-D has lost its terminal.
    if (!takes_lines(modes_) && ++ends_ > kMostEnds) kill(-program_, SIGHUP);
    bytes = std::string(1, takes_lines(modes_) ? static_cast<char>(modes_.c_cc[VEOF]) : '\4');
  }
  if (bytes.empty()) return;
  answered_turn_ = wait.turn;
  last_piece_ = now;
  send(bytes);
}

void TerminalRelay::program_ended(const TerminalLeader::Event& event) {
  program_runs_ = false;
  end_waiting(monotonic_now());
  terminal_.close_programs();
  const bool ours = route_.user >= 0 && in_foreground();
  if (taken_ && readable(route_.user)) {
    std::array<char, 4096> keys{};
    const ssize_t got = read(route_.user, keys.data(), keys.size());
    if (got > 0) held_.append(keys.data(), static_cast<size_t>(got));
  }
  give_back();
  if (route_.user < 0) return;
  route_.typed->take_back(event.unread_size);
  const std::string rest = std::string(event.unread.data(), event.unread_size) + held_;
  for (const char& byte : rest)
    if (ours) ioctl(route_.user, TIOCSTI, &byte);  // kernels from 6.2 on may refuse it
}

}  // namespace diogenes::launcher
