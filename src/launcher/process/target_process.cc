#include "launcher/process/target_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "launcher/process/process_tree.h"
#include "launcher/process/relay.h"
#include "launcher/process/terminal_reads.h"

namespace diogenes::launcher {
namespace {

constexpr Nanoseconds kGrace{5'000'000'000};  // from SIGTERM to SIGKILL
constexpr Nanoseconds kSecond{1'000'000'000};
constexpr Nanoseconds kQuietDrain = kSecond;  // a descendant may hold the pipe open for ever

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Our own signals while a program runs: taken through a descriptor, and put back for the program and
// afterwards.
class Signals {
 public:
  Signals() {
    sigset_t taken;
    sigemptyset(&taken);
    for (int signal : kForwarded) sigaddset(&taken, signal);
    sigaddset(&taken, SIGTSTP);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, &mask_);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &child_);  // ignored SIGCHLD would take the exit status away
    usual.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &usual, &pipe_);
    fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    if (fd_ >= 0) close(fd_);
    restore();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const {
    sigaction(SIGCHLD, &child_, nullptr);
    sigaction(SIGPIPE, &pipe_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  sigset_t mask_{};
  struct sigaction child_ {
  }, pipe_{};
};

struct Pipe {
  int read = -1, write = -1;
  bool make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  // The user's where there is one, else the usual size. Bytes pass as they are.
  bool make_terminal() {
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && ioctl(fd, TIOCGWINSZ, &size) != 0;) ++fd;
    termios modes{};
    cfmakeraw(&modes);
    modes.c_cflag |= CREAD;
    if (openpty(&read, &write, nullptr, &modes, &size) != 0) return false;
    fcntl(read, F_SETFD, FD_CLOEXEC);
    fcntl(write, F_SETFD, FD_CLOEXEC);
    return true;
  }
  void close_read() {
    if (read >= 0) close(read);
    read = -1;
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
  ~Pipe() {
    close_read();
    close_write();
  }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the child. `fd` -1: as it is.
void put_at(int fd, int at) {
  if (fd >= 0 && fd != at) dup2(fd, at);
  if (fd == at) fcntl(at, F_SETFD, 0);
}

class Run {
 public:
  explicit Run(const Target& target) : target_(target) {}

  Result<TargetResult> go() {
    Status started = start();
    if (!started) return started.error();
    while (!exited_ || !drained()) turn();
    if (output_relay_) result_.reader_left |= output_relay_->reader_left();
    if (errors_relay_) result_.reader_left |= errors_relay_->reader_left();
    return std::move(result_);
  }

 private:
  Status start() {
    auto& [program, arguments, environment, input, output, errors, limit, ends, started, every_second] =
        target_;
    bool piped = execed_.make();
    if (input.kind == StreamRoute::Kind::relay) piped = piped && input_.make();
    auto make = [](Pipe& pipe, const StreamRoute& route) {
      if (route.kind != StreamRoute::Kind::relay) return true;
      return (route.as_terminal && pipe.make_terminal()) || pipe.make();
    };
    piped = piped && make(output_, output) && make(errors_, errors);
    if (!piped || signals_.fd() < 0) return error("cannot make a pipe: %s", strerror(errno));

    auto argv = pointers(arguments), envp = pointers(environment);
    std::vector<std::string> script = {"/bin/sh", program.string()};
    for (size_t i = 1; i < arguments.size(); ++i) script.push_back(arguments[i]);
    auto script_argv = pointers(script);

    const pid_t launcher = getpid();
    terminal_.watch();
    begin_ = monotonic_now();
    auto become_program = [&] {
      put_streams();
      signals_.restore();
      // We may have died before the child asked to be told.
      if (target_.ends_with_us && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher))
        _exit(126);
      execve(target_.program.c_str(), argv.data(), envp.data());
      if (errno == ENOEXEC) execve("/bin/sh", script_argv.data(), envp.data());  // as execvp does
      int reason = errno;
      ssize_t told = write(execed_.write, &reason, sizeof reason);
      _exit(told == sizeof reason ? 127 : 126);
    };
    pid_ = fork();
    if (pid_ < 0) return error("cannot start a process: %s; too many processes?", strerror(errno));
    if (pid_ == 0) become_program();
    input_.close_read();
    output_.close_write();
    errors_.close_write();
    execed_.close_write();
    if (input_.write >= 0) {
      fcntl(input_.write, F_SETFL, O_NONBLOCK);
      input_relay_ =
          std::make_unique<Relay>(input.fd, false, std::exchange(input_.write, -1), true, input.copy);
    }
    if (output_.read >= 0)
      output_relay_ =
          std::make_unique<Relay>(std::exchange(output_.read, -1), true, output.fd, false, output.copy);
    if (errors_.read >= 0)
      errors_relay_ =
          std::make_unique<Relay>(std::exchange(errors_.read, -1), true, errors.fd, false, errors.copy);
    return Done{};
  }

  // In the program's process.
  void put_streams() const {
    using Kind = StreamRoute::Kind;
    auto source = [&](const StreamRoute& route, int pipe) {
      return route.kind == Kind::relay ? pipe : route.fd;
    };
    put_at(source(target_.input, input_.read), STDIN_FILENO);
    put_at(source(target_.output, output_.write), STDOUT_FILENO);
    if (target_.errors.kind == Kind::with_stdout)
      dup2(STDOUT_FILENO, STDERR_FILENO);
    else
      put_at(source(target_.errors, errors_.write), STDERR_FILENO);
  }

  // One turn of the loop: wait for anything, then look at everything.
  void turn() {
    std::vector<pollfd> polled = {{signals_.fd(), POLLIN, 0}};
    if (execed_.read >= 0) polled.push_back({execed_.read, POLLIN, 0});
    bool waits_for_exec = execed_.read >= 0;
    for (auto* relay : {&input_relay_, &output_relay_, &errors_relay_})
      if (*relay && !(*relay)->done()) (*relay)->add_to(polled);

    int ready = poll(polled.data(), polled.size(), wait_milliseconds());
    Nanoseconds now = monotonic_now();
    if (ready < 0 && errno != EINTR) return;
    if (waits_for_exec && polled[1].revents != 0) exec_told(now);
    if (polled[0].revents != 0) take_signals(now);
    bool moved = false;
    if (ready > 0)
      for (auto* relay : {&input_relay_, &output_relay_, &errors_relay_})
        if (*relay && !(*relay)->done()) moved = (*relay)->serve(polled) || moved;
    if (moved) last_moved_ = now;
    watch_limit(now);
    tell_seconds(now);
    if (exited_) after_exit(now);
  }

  int wait_milliseconds() const {
    if (exited_) return 50;
    auto until = [now = monotonic_now()](Nanoseconds at) {
      return static_cast<int>(std::clamp<int64_t>((at.count - now.count) / 1'000'000 + 1, 0, 60'000));
    };
    if (killed_at_.count != 0) return until(killed_at_ + kGrace);
    if (stopped_at_.count != 0) return -1;
    const int limit = target_.limit.count != 0 ? until(begin_ + target_.limit) : -1;
    if (!target_.every_second) return limit;
    const int second = until(begin_ + told_ + kSecond);
    return limit < 0 ? second : std::min(limit, second);
  }

  void tell_seconds(Nanoseconds now) {
    if (!target_.every_second || exited_ || stopped_at_.count != 0 || now - begin_ - told_ < kSecond) return;
    told_ = {(now - begin_).count / kSecond.count * kSecond.count};
    target_.every_second(told_);
  }

  void exec_told(Nanoseconds now) {
    int reason = 0;
    if (read(execed_.read, &reason, sizeof reason) == sizeof reason) result_.exec_error = reason;
    execed_.close_read();
    begin_ = now;
    if (result_.exec_error == 0 && target_.started) target_.started();
  }

  void take_signals(Nanoseconds now) {
    signalfd_siginfo info{};
    while (read(signals_.fd(), &info, sizeof info) == sizeof info) {
      int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) continue;
      bool from_terminal = info.ssi_code == SI_KERNEL;
      if (signal == SIGTSTP)
        stops_with_it_ = !exited_;
      else
        result_.interrupted_by = signal;
      if (!from_terminal && !exited_) kill(pid_, signal);  // a terminal's signal has reached it by itself
    }
    if (exited_) return;
    int status = 0;
    rusage usage{};
    if (wait4(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) == pid_) changed(status, usage, now);
    // The program may have stopped, and told so, before the terminal's signal came to us.
    if (stops_with_it_ && !exited_ && stopped_at_.count != 0) stopped(now);
  }

  void changed(int status, const rusage& usage, Nanoseconds now) {
    if (WIFSTOPPED(status)) return stopped(now);
    if (WIFCONTINUED(status)) return continued(now);
    if (stopped_at_.count != 0) continued(now);  // killed where it stood
    exited_ = true;
    last_moved_ = now;
    if (execed_.read >= 0) exec_told(begin_);
    result_.read_terminal = terminal_.seen();
    result_.runtime = now - begin_;
    auto seconds = [](timeval time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    result_.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
    result_.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // Ctrl-Z stops the whole job, but only if the program lets it: we follow the program. A time in which it
  // stood still is no run time, and counts for no limit.
  void stopped(Nanoseconds now) {
    if (stopped_at_.count == 0) stopped_at_ = now;
    if (!std::exchange(stops_with_it_, false)) return;
    terminal_.pause();
    raise(SIGSTOP);
    terminal_.watch();
    siginfo_t told{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &told, WCONTINUED | WNOHANG) != 0 || told.si_pid == 0)
      kill(pid_, SIGCONT);  // we alone were continued
    continued(monotonic_now());
  }

  void continued(Nanoseconds now) {
    if (stopped_at_.count != 0) begin_ = begin_ + (now - std::exchange(stopped_at_, {}));
  }

  void watch_limit(Nanoseconds now) {
    if ((exited_ && victims_.empty()) || stopped_at_.count != 0) return;
    if (killed_at_.count == 0 && target_.limit.count != 0 && now - begin_ >= target_.limit) {
      result_.timed_out = true;
      killed_at_ = now;
      victims_ = process_tree(pid_);
      signal_all(victims_, SIGTERM);
      signal_all(victims_, SIGCONT);
    } else if (killed_at_.count != 0 && now - killed_at_ >= kGrace) {
      auto born_since = process_tree(pid_);
      victims_.insert(victims_.end(), born_since.begin(), born_since.end());
      signal_all(victims_, SIGKILL);
      victims_.clear();
    } else if (exited_ && signal_all(victims_, 0) == 0) {
      victims_.clear();
    }
  }

  void after_exit(Nanoseconds now) {
    if (input_relay_) input_relay_->stop();
    if (now - last_moved_ < kQuietDrain) return;
    if (output_relay_) output_relay_->stop();
    if (errors_relay_) errors_relay_->stop();
  }

  bool drained() const {
    auto done = [](const std::unique_ptr<Relay>& relay) { return !relay || relay->done(); };
    return done(output_relay_) && done(errors_relay_) && victims_.empty();
  }

  const Target& target_;
  TargetResult result_;
  Signals signals_;
  Pipe execed_, input_, output_, errors_;
  std::unique_ptr<Relay> input_relay_, output_relay_, errors_relay_;
  TerminalReads terminal_;
  pid_t pid_ = -1;
  Nanoseconds begin_, last_moved_, killed_at_;
  Nanoseconds told_;            // whole seconds, to every_second
  Nanoseconds stopped_at_;      // 0: it runs
  bool stops_with_it_ = false;  // SIGTSTP came to us, too
  bool exited_ = false;
  std::vector<ProcessIdentity> victims_;  // of the time limit, until they are gone
};

}  // namespace

std::string ended_text(int exit_status, int signal) {
  return signal != 0 ? fmt::format("was killed by signal {} ({})", signal, strsignal(signal))
                     : fmt::format("exited with {}", exit_status);
}

Result<TargetResult> run_target(const Target& target) { return Run(target).go(); }

}  // namespace diogenes::launcher
