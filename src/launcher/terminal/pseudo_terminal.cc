#include "launcher/terminal/pseudo_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/ttydefaults.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace diogenes::launcher {
namespace {

termios usual_modes() {
  termios modes{};
  modes.c_iflag = ICRNL | IXON;
  modes.c_oflag = OPOST | ONLCR;
  modes.c_cflag = CS8 | CREAD;
  modes.c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
  constexpr std::array<std::pair<int, cc_t>, 11> kKeys = {{{VINTR, CINTR},
                                                           {VQUIT, CQUIT},
                                                           {VERASE, CERASE},
                                                           {VKILL, CKILL},
                                                           {VEOF, CEOF},
                                                           {VSTART, CSTART},
                                                           {VSTOP, CSTOP},
                                                           {VSUSP, CSUSP},
                                                           {VLNEXT, CLNEXT},
                                                           {VWERASE, CWERASE},
                                                           {VMIN, 1}}};
  for (auto [key, value] : kKeys) modes.c_cc[key] = value;
  cfsetspeed(&modes, B38400);
  return modes;
}

}  // namespace

TerminalLook look_of(int fd) {
  TerminalLook look;
  if (fd < 0 || tcgetattr(fd, &look.modes) != 0) look.modes = usual_modes();
  if (fd < 0 || ioctl(fd, TIOCGWINSZ, &look.size) != 0) look.size = {.ws_row = 24, .ws_col = 80};
  return look;
}

bool takes_lines(const termios& modes) { return (modes.c_lflag & ICANON) != 0; }

bool is_secret(const termios& modes) { return takes_lines(modes) && (modes.c_lflag & ECHO) == 0; }

Result<PseudoTerminal> PseudoTerminal::open(const TerminalLook& look) {
  PseudoTerminal made;
  made.ours_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 64> name{};
  if (made.ours_ < 0 || grantpt(made.ours_) != 0 || unlockpt(made.ours_) != 0 ||
      ptsname_r(made.ours_, name.data(), name.size()) != 0)
    return error("no pseudo-terminal can be opened: %s", strerror(errno));
  made.programs_ = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (made.programs_ < 0 || fstat(made.programs_, &status) != 0)
    return error("cannot open the pseudo-terminal %s: %s", name.data(), strerror(errno));
  made.device_ = status.st_rdev;
  int packets = 1;
  if (tcsetattr(made.programs_, TCSANOW, &look.modes) != 0 ||
      ioctl(made.ours_, TIOCSWINSZ, &look.size) != 0 || ioctl(made.ours_, TIOCPKT, &packets) != 0 ||
      fcntl(made.ours_, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
    return error("cannot set up the pseudo-terminal %s: %s", name.data(), strerror(errno));
  return {std::move(made)};
}

PseudoTerminal::PseudoTerminal(PseudoTerminal&& other) noexcept
    : ours_(std::exchange(other.ours_, -1)),
      programs_(std::exchange(other.programs_, -1)),
      device_(other.device_) {}

PseudoTerminal::~PseudoTerminal() {
  close_programs();
  if (ours_ >= 0) close(ours_);
}

void PseudoTerminal::close_programs() {
  if (programs_ >= 0) close(programs_);
  programs_ = -1;
}

}  // namespace diogenes::launcher
