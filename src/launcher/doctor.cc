// `diogenes doctor`: can this machine, driver and program be measured? One line a check, and for each problem
// what to do.
#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "launcher/driver_choice.h"
#include "launcher/installation.h"
#include "launcher/messages.h"
#include "launcher/options.h"
#include "launcher/program_file.h"
#include "launcher/target_environment.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

namespace diogenes::launcher {
namespace {

enum class Verdict : uint8_t { ok, note, problem };

// Prints as it goes: some checks take seconds.
class Checks {
 public:
  Checks() : color_(colors_wanted(STDOUT_FILENO)) {}

  void ok(std::string_view what, std::string_view found) { line(Verdict::ok, what, found); }
  void note(std::string_view what, std::string_view found) { line(Verdict::note, what, found); }
  void problem(std::string_view what, std::string_view found) {
    line(Verdict::problem, what, found);
    ++problems_;
  }
  int problems() const { return problems_; }

 private:
  void line(Verdict verdict, std::string_view what, std::string_view found) const {
    constexpr std::array<const char*, 3> kWords = {"ok", "note", "PROBLEM"};
    constexpr std::array<const char*, 3> kColors = {"\033[32m", "\033[33m", "\033[31m"};
    auto index = static_cast<size_t>(verdict);
    fmt::print("{}{:<8}{}{:<22}{}\n", color_ ? kColors[index] : "", kWords[index], color_ ? "\033[0m" : "",
               what, found);
    fflush(stdout);
  }
  bool color_;
  int problems_ = 0;
};

int read_number(const char* file, int fallback) {
  std::ifstream stream(file);
  int value = fallback;
  stream >> value;
  return stream ? value : fallback;
}

void check_installation(Checks& checks, const Installation& installation) {
  Status agent = check_agent(installation);
  if (agent)
    checks.ok("agent", installation.agent.string());
  else
    checks.problem("agent", agent.error().c_str());
}

void check_gpu(Checks& checks, const ChosenDriver& driver) {
  if (driver.simulated) return checks.ok("GPU", "simulated, none needed");
  if (access("/dev/nvidiactl", F_OK) != 0)
    return checks.problem("GPU",
                          "no /dev/nvidiactl: no GPU, or the container was started without it (--gpus all)");
  if (access("/dev/nvidiactl", R_OK | W_OK) != 0)
    return checks.problem("GPU", fmt::format("/dev/nvidiactl: {}; ask for access to it", strerror(errno)));
  checks.ok("GPU", "present");
}

void check_driver(Checks& checks, DriverKind kind, const Installation& installation) {
  Result<ChosenDriver> driver = choose_driver(kind, installation);
  if (!driver) return checks.problem("driver", driver.error().c_str());
  check_gpu(checks, *driver);
  Result<DriverHooks> hooks = prepare_driver(*driver, installation, true);
  if (!hooks) return checks.problem("driver", hooks.error().c_str());
  checks.ok("driver", driver->library.string());
  checks.ok("driver build", fmt::format("{}, version {}", hooks->build_id_text,
                                        hooks->version.empty() ? "unknown" : hooks->version));
  for (auto& wait : hooks->wait_functions) {
    const char* name = wait.queue ? "launch-queue wait" : "wait function";
    if (wait.queue)
      checks.ok(name, fmt::format("+{:#x}", wait.offset));
    else
      checks.ok(name, fmt::format("+{:#x}, agreed on by {} of {} known waits{}", wait.offset, wait.agreed,
                                  wait.known, hooks->from_cache ? " (known build)" : ""));
  }
  if (hooks->wait_functions.empty())
    checks.problem("wait function", "not found: only the times of public calls will be known");
  checks.ok("hooks", fmt::format("{} can be placed", hooks->all.size()));
  for (auto& problem : hooks->problems) checks.note("driver", problem);
}

void check_system_calls(Checks& checks) {
  char selector = 0;
  bool there = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0;
  if (there) prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  if (there)
    checks.ok("system calls", "Syscall User Dispatch is there");
  else
    checks.note("system calls",
                fmt::format("no Syscall User Dispatch ({}): needs Linux 5.11; buffers that system calls "
                            "take count as needed",
                            strerror(errno)));
}

void check_watchpoints(Checks& checks) {
  uint64_t watched = 0;
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = 3;  // HW_BREAKPOINT_RW
  attributes.bp_addr = reinterpret_cast<uint64_t>(&watched);
  attributes.bp_len = 8;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  // As the agent opens them; the last two need Linux 5.13.
  attributes.sample_period = 1;
  attributes.disabled = attributes.inherit = attributes.remove_on_exec = 1;
  attributes.inherit_thread = attributes.sigtrap = 1;
  int paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 99);
  long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) {
    close(static_cast<int>(fd));
    return checks.ok("watchpoints", fmt::format("there (perf_event_paranoid {})", paranoid));
  }
  checks.note(
      "watchpoints",
      fmt::format("not to be had ({}; perf_event_paranoid {}, the container's seccomp profile, or Linux "
                  "before 5.13): results on stacks, in globals and in small heap blocks count as needed",
                  strerror(errno), paranoid));
}

void check_limits(Checks& checks) {
  constexpr int kUsualMaps = 65530;
  int maps = read_number("/proc/sys/vm/max_map_count", 0);
  if (maps >= kUsualMaps)
    checks.ok("page guards", fmt::format("up to {} at a time (vm.max_map_count {})", maps / 4, maps));
  else
    checks.note("page guards",
                fmt::format("only {} at a time: vm.max_map_count is {}; `sysctl vm.max_map_count={}` as "
                            "root raises it",
                            maps / 4, maps, kUsualMaps));
  int seccomp = 0, tracer = 0;
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "Seccomp:") status >> seccomp;
    if (word == "TracerPid:") status >> tracer;
  }
  checks.ok("seccomp", seccomp == 0 ? "no filter" : "a filter is on; what matters of it is tried above");
  if (tracer != 0)
    checks.note(
        "tracer",
        fmt::format("process {} traces this one; programs under a debugger or strace run slower", tracer));

  struct statvfs here {};
  constexpr uint64_t kWanted = uint64_t{1} << 30;
  uint64_t available = statvfs(".", &here) == 0 ? uint64_t{here.f_bavail} * here.f_frsize : 0;
  if (access(".", W_OK) != 0)
    checks.problem("this folder", fmt::format("not writable ({}); give run --output DIR", strerror(errno)));
  else if (available < kWanted)
    checks.note("this folder", fmt::format("only {} MiB are free; give run --output DIR", available >> 20));
  else
    checks.ok("this folder", fmt::format("writable, {} GiB free", available >> 30));
}

void check_other_tools(Checks& checks) {
  bool any = false;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                           "CUDA_INJECTION32_PATH"}) {
    const char* value = getenv(name);
    if (value == nullptr || *value == 0) continue;
    any = true;
    checks.note("other tools", fmt::format("{}={} is kept; if a stage fails, try without it", name, value));
  }
  if (!any) checks.ok("other tools", "none in LD_PRELOAD or CUDA_INJECTION64_PATH");
}

void check_program(Checks& checks, const std::vector<std::string>& command) {
  if (command.empty()) return;
  FoundProgram program = find_program(command.front());
  if (program.status != 0) return checks.problem("program", program.problem);
  std::string path = program.path.string();
  if (is_foreign(program.path)) return checks.problem("program", path + " is not an x86-64 program");
  if (is_static(program.path))
    return checks.problem("program",
                          path + " is linked statically: the agent cannot get in; link libc dynamically");
  struct stat status {};
  bool privileged = stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  if (privileged && geteuid() != 0)
    return checks.problem("program",
                          path + " is setuid or setgid, where LD_PRELOAD is ignored; measure a copy without");
  checks.ok("program", path);
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Checks checks;
  Installation installation = find_installation();
  check_installation(checks, installation);
  check_driver(checks, options.driver, installation);
  check_system_calls(checks);
  check_watchpoints(checks);
  check_limits(checks);
  check_other_tools(checks);
  check_program(checks, options.command);
  const char* driver = options.driver == DriverKind::simulated ? " --driver simulated" : "";
  if (checks.problems() == 0)
    fmt::print("\nReady: diogenes run{} -- ./app\n", driver);
  else
    fmt::print("\n{} problem{} in the way of `diogenes run{}`.\n", checks.problems(),
               checks.problems() == 1 ? "" : "s", driver);
  return checks.problems() == 0 ? kSuccess : kProblems;
}

}  // namespace diogenes::launcher
