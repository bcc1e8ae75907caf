#include "launcher/terminal/terminal_leader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace diogenes::launcher {

// Written by us, read by the leader when we are gone.
struct TerminalLeader::Shared {
  std::atomic<bool> changed;
  termios modes;
};

namespace {

// A foreground that changes, and a job that goes on, in this order.
struct Order {
  bool foreground, goes_on;
};

class Leader {
 public:
  Leader(int orders, int ours, int programs, int user)
      : orders_(orders), ours_(ours), programs_(programs), user_(user) {}

  // The rest of the leader's life. `changed`, `modes`: what to do to the user's terminal when nobody else can.
  [[noreturn]] void lead(pid_t program, const std::atomic<bool>& changed, const termios& modes) {
    program_ = program;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    const int children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watch_program();
    while (orders_ >= 0) {
      std::array<pollfd, 2> files = {{{orders_, POLLIN, 0}, {children, POLLIN, 0}}};
      poll(files.data(), files.size(), -1);
      signalfd_siginfo info{};
      while (read(children, &info, sizeof info) == sizeof info) {
      }
      watch_program();
      take_orders();
    }
    if (user_ >= 0 && changed.load(std::memory_order_acquire)) tcsetattr(user_, TCSANOW, &modes);
    take_over();
    _exit(0);
  }

 private:
  void tell(const TerminalLeader::Event& event) const {
    [[maybe_unused]] ssize_t sent = send(orders_, &event, sizeof event, MSG_NOSIGNAL);
  }

  void watch_program() {
    TerminalLeader::Event event;
    while (program_ > 0 &&
           wait4(program_, &event.status, WNOHANG | WUNTRACED | WCONTINUED, &event.usage) == program_) {
      event.ended = WIFEXITED(event.status) || WIFSIGNALED(event.status);
      if (event.ended) {
        program_ = -1;
        // Whoever the program has left behind is in the background from now on.
        tcsetpgrp(programs_, getpgrp());
        take_unread(event);
        close(std::exchange(programs_, -1));
      }
      tell(event);
    }
  }

  // What can be read without waiting. The modes stay: others may go on with the terminal.
  void take_unread(TerminalLeader::Event& event) const {
    termios modes{};
    if (tcgetattr(programs_, &modes) != 0 || (!takes_lines(modes) && modes.c_cc[VMIN] > 1)) return;
    int left = 0;
    while (event.unread_size < event.unread.size() && ioctl(programs_, FIONREAD, &left) == 0 && left > 0) {
      const ssize_t got =
          read(programs_, event.unread.data() + event.unread_size, event.unread.size() - event.unread_size);
      if (got <= 0) return;
      event.unread_size += static_cast<size_t>(got);
    }
  }

  void take_orders() {
    Order order{};
    for (ssize_t got;
         (got = recv(orders_, &order, sizeof order, MSG_DONTWAIT)) >= 0 || errno == ECONNRESET;) {
      if (got <= 0) {
        close(std::exchange(orders_, -1));
        return;
      }
      if (program_ <= 0) continue;
      tcsetpgrp(programs_, order.foreground ? program_ : getpgrp());
      if (order.goes_on) kill(-program_, SIGCONT);
    }
  }

  // Nobody else reads what the program writes: else it would stand still, or be told that its terminal is gone.
  void take_over() {
    if (program_ > 0) end_input();
    if (programs_ >= 0) close(std::exchange(programs_, -1));
    int packets = 0;
    ioctl(ours_, TIOCPKT, &packets);
    fcntl(ours_, F_SETFL, O_RDWR);
    std::array<char, 4096> bytes{};
    for (ssize_t got; (got = read(ours_, bytes.data(), bytes.size())) > 0 || errno == EINTR;)
      for (ssize_t done = 0; user_ >= 0 && done < got;) {
        const ssize_t step = write(user_, bytes.data() + done, static_cast<size_t>(got - done));
        if (step < 0 && errno == EAGAIN) {
          pollfd file{user_, POLLOUT, 0};
          poll(&file, 1, -1);
        } else if (step <= 0) {
          user_ = -1;
        } else {
          done += step;
        }
      }
  }

  // In the foreground a program reads the end of its lines, and is not stopped for ever. One that takes keys learns that
  // its terminal is gone.
  void end_input() const {
    tcsetpgrp(programs_, program_);
    termios modes{};
    if (tcgetattr(programs_, &modes) != 0) return;
    if (!takes_lines(modes)) {
      kill(-program_, SIGHUP);
      return;
    }
    const std::string ends(kEnds, static_cast<char>(modes.c_cc[VEOF]));
    [[maybe_unused]] ssize_t written = write(ours_, ends.data(), ends.size());
  }

  static constexpr size_t kEnds = 64;  // so often it may ask again
  int orders_, ours_, programs_, user_;
  pid_t program_ = -1;
};

}  // namespace

Result<pid_t> TerminalLeader::start(const PseudoTerminal& terminal, int user, bool foreground,
                                    bool dies_with_us, const std::function<void()>& become_program) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return error("cannot make a pair of sockets: %s", strerror(errno));
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    for (const int end : ends) close(end);
    return error("no memory for the terminal's modes: %s", strerror(errno));
  }
  shared_ = new (page) Shared{};
  const pid_t launcher = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    for (const int end : ends) close(end);
    return error("cannot start a process: %s; too many processes?", strerror(errno));
  }
  if (pid_ > 0) {
    close(ends[1]);
    events_ = ends[0];
    pid_t program = -1;
    if (recv(events_, &program, sizeof program, 0) != sizeof program)
      return error("the program's process cannot get the pseudo-terminal; too many processes?");
    fcntl(events_, F_SETFL, O_NONBLOCK);
    return pid_t{program};
  }

  // The leader. It lets nothing end it but the end of its work.
  close(ends[0]);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  if (dies_with_us && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher)) _exit(126);
  const int programs = terminal.programs();
  if (setsid() < 0 || ioctl(programs, TIOCSCTTY, 0) != 0) _exit(126);
  leader_ = getpid();
  const pid_t program = fork();
  if (program == 0) {
    setpgid(0, 0);
    if (foreground) tcsetpgrp(programs, getpid());
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become_program();
    _exit(126);
  }
  if (program < 0) _exit(126);
  setpgid(program, program);
  [[maybe_unused]] ssize_t told = send(ends[1], &program, sizeof program, MSG_NOSIGNAL);
  // Descriptors that the leader does not need would keep readers of the program's output waiting.
  for (int fd = 0; fd < static_cast<int>(sysconf(_SC_OPEN_MAX)) && fd < 1024; ++fd)
    if (fd != ends[1] && fd != terminal.ours() && fd != programs && fd != user) close(fd);
  Leader(ends[1], terminal.ours(), programs, user).lead(program, shared_->changed, shared_->modes);
}

TerminalLeader::~TerminalLeader() {
  if (events_ >= 0) close(events_);
  // It ends when all writers have gone, which may be later than this.
  if (pid_ > 0) waitpid(pid_, nullptr, WNOHANG);
  if (shared_) munmap(shared_, sizeof *shared_);
}

std::optional<TerminalLeader::Event> TerminalLeader::next() {
  Event event;
  const ssize_t got = recv(events_, &event, sizeof event, 0);
  if (got == sizeof event) return event;
  if (got >= 0 || (errno != EAGAIN && errno != EINTR)) gone_ = true;
  return {};
}

void TerminalLeader::set_foreground(bool foreground, bool goes_on) {
  const Order order{foreground, goes_on};
  [[maybe_unused]] ssize_t sent = send(events_, &order, sizeof order, MSG_NOSIGNAL);
}

void TerminalLeader::note_modes(const termios* modes) {
  if (modes) shared_->modes = *modes;
  shared_->changed.store(modes != nullptr, std::memory_order_release);
}

}  // namespace diogenes::launcher
