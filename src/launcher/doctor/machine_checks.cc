#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/watchpoints_fire.h"
#include "launcher/doctor/checks.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

namespace diogenes::launcher {
namespace {

int read_number(const char* file, int fallback) {
  std::ifstream stream(file);
  int value = fallback;
  stream >> value;
  return stream ? value : fallback;
}

void check_agent(Checks& checks, const Installation& installation) {
  if (Status there = launcher::check_agent(installation); !there)
    return checks.problem("agent", there.error().c_str());
  struct statvfs mounted {};
  if (statvfs(installation.agent.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOEXEC) != 0)
    return checks.problem("agent",
                          fmt::format("{} is on a filesystem mounted noexec: it cannot be loaded; install "
                                      "elsewhere",
                                      installation.agent.string()));
  checks.ok("agent", installation.agent.string());
}

// What a process can see of the container that it is in; "": none, or it hides itself.
std::string container() {
  if (const char* named = getenv("container"); named && *named) return named;
  if (access("/.dockerenv", F_OK) == 0) return "Docker";
  if (access("/run/.containerenv", F_OK) == 0) return "Podman";
  for (const char* name : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"})
    if (getenv(name) != nullptr) return "Apptainer";
  if (getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "Kubernetes";
  return "";
}

void check_system_calls(Checks& checks) {
  char selector = 0;
  bool there = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0;
  if (there) prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  if (there)
    checks.ok("system calls", "Syscall User Dispatch is available");
  else
    checks.note(
        "system calls",
        fmt::format("no Syscall User Dispatch ({}): it needs Linux 5.11; results that go into system calls "
                    "count as needed",
                    strerror(errno)));
}

void check_watchpoints(Checks& checks, const std::string& container) {
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
    if (watchpoints_never_fire())
      return checks.note("watchpoints",
                         "taken, but they do not fire on this machine: results on stacks, in globals and in "
                         "small heap blocks count as needed, and no value is followed");
    return checks.ok("watchpoints", fmt::format("available (perf_event_paranoid {})", paranoid));
  }
  const std::string advice =
      container.empty() ? "; perf_event_paranoid of 2 or less, or Linux 5.13, may be missing"
                        : "; start the container with --cap-add PERFMON, or a seccomp profile that allows "
                          "perf_event_open";
  checks.note(
      "watchpoints",
      fmt::format("not available ({}; perf_event_paranoid {}): results on stacks, in globals and in small "
                  "heap blocks count as needed{}",
                  strerror(errno), paranoid, advice));
}

void check_container(Checks& checks, const std::string& container) {
  int seccomp = 0, tracer = 0;
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "Seccomp:") status >> seccomp;
    if (word == "TracerPid:") status >> tracer;
  }
  checks.ok("container",
            fmt::format("{}; {}", container.empty() ? "none seen" : container,
                        seccomp == 0 ? "no seccomp filter"
                                     : "a seccomp filter is on; the lines above show what it allows"));
  if (tracer != 0)
    checks.note(
        "tracer",
        fmt::format("process {} traces this one; programs under a debugger or strace run slower", tracer));
  if (read_number("/sys/fs/selinux/enforce", 0) == 1)
    checks.note("SELinux", "it is enforcing: if no hook can be placed, allow execmod for the driver's file");
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
  constexpr rlim_t kEnoughFile = rlim_t{1} << 30, kEnoughFiles = 256, kEnoughMemory = rlim_t{1} << 36;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kEnoughFile)
    checks.note("file size", fmt::format("ulimit -f allows {} MiB: recording ends there; raise it, or set "
                                         "--max-trace-size",
                                         limit.rlim_cur >> 20));
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnoughFiles)
    checks.note("open files",
                fmt::format("ulimit -n is {}: recording needs one for each thread that uses CUDA; raise it",
                            limit.rlim_cur));
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < kEnoughMemory)
    checks.note("address space",
                fmt::format("ulimit -v allows {} GiB: the CUDA driver reserves more than that",
                            limit.rlim_cur >> 30));
}

void check_folder(Checks& checks) {
  struct statvfs here {};
  constexpr uint64_t kWanted = uint64_t{1} << 30;
  uint64_t available = statvfs(".", &here) == 0 ? uint64_t{here.f_bavail} * here.f_frsize : 0;
  if (access(".", W_OK) != 0)
    checks.problem("this folder", fmt::format("not writable ({}); choose another with diogenes run --output "
                                              "DIR",
                                              strerror(errno)));
  else if (available < kWanted)
    checks.note("this folder", fmt::format("only {} MiB are free; choose another with diogenes run --output "
                                           "DIR",
                                           available >> 20));
  else
    checks.ok("this folder", fmt::format("writable, {} GiB free", available >> 30));
}

struct KnownTool {
  const char* file;  // its name begins so
  const char* tool;
  bool takes_cupti;
};
constexpr KnownTool kTools[] = {
    {"libToolsInjection", "Nsight Systems", true},
    {"libcuda-injection", "Nsight Compute", true},
    {"libTreeLauncherTargetInjection", "Nsight Compute", true},
    {"libcuinj", "nvprof", true},
    {"libsanitizer-collection", "Compute Sanitizer", false},
    {"libInterceptorInjectionTarget", "Compute Sanitizer", false},
    {"libhpcrun", "HPCToolkit", true},
    {"libTAU", "TAU", true},
    {"libscorep", "Score-P", true},
    {"libcudatrace", "Extrae", true},
    {"libptcudatrace", "Extrae", true},
    {"libvampir", "VampirTrace", true},
    {"libasan", "AddressSanitizer", false},
    {"libtsan", "ThreadSanitizer", false},
    {"libdarshan", "Darshan", false},
    {"libjemalloc", "jemalloc", false},
    {"libtcmalloc", "tcmalloc", false},
};

const KnownTool* tool_of(std::string_view value) {
  for (const KnownTool& known : kTools) {
    const size_t found = value.find(known.file);
    if (found != std::string_view::npos &&
        (found == 0 || value[found - 1] == '/' || value[found - 1] == ':' || value[found - 1] == ' '))
      return &known;
  }
  return nullptr;
}

void check_other_tools(Checks& checks) {
  bool any = false;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                           "CUDA_INJECTION32_PATH"}) {
    const char* value = getenv(name);
    if (value == nullptr || *value == 0) continue;
    any = true;
    const KnownTool* tool = tool_of(value);
    std::string text =
        fmt::format("{}={}{} is kept", name, value, tool ? fmt::format(" ({})", tool->tool) : "");
    if (tool && tool->takes_cupti)
      text += "; it holds CUPTI, which serves one tool at a time, so GPU times are not measured";
    checks.note("other tools", text + "; if a stage fails, try without it");
  }
  if (!any) checks.ok("other tools", "none in LD_PRELOAD or CUDA_INJECTION64_PATH");
}

}  // namespace

void check_machine(Checks& checks, const Installation& installation) {
  const std::string inside = container();
  check_agent(checks, installation);
  check_system_calls(checks);
  check_watchpoints(checks, inside);
  check_container(checks, inside);
  check_limits(checks);
  check_folder(checks);
  check_other_tools(checks);
}

}  // namespace diogenes::launcher
