// Guards by watchpoints beside all else: frames that end, turns, signals, forks, files, page guards.
#include "agent/watching/guard/watchpoints/watch_guards.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "agent/watching/guard/testing/watching.h"

namespace diogenes::agent {
namespace {

// ---- frames ----

[[gnu::noinline]] GuardHandle watch_in_frame(bool use) {
  alignas(8) volatile uint64_t word = 0;
  auto* place = static_cast<uintptr_t*>(__builtin_frame_address(0)) + 1;
  Watching how{WatchMethod::watchpoints, {1, {reinterpret_cast<uintptr_t>(place)}, {*place}}};
  GuardHandle guard =
      raise_guard(AddressRange::of(reinterpret_cast<uintptr_t>(&word), 8), Protection::no_access, how);
  if (use) word = 1;
  return guard;
}

[[gnu::noinline]] uint64_t other_frame(int depth) {
  volatile uint64_t words[64];
  for (int i = 0; i < 64; ++i) words[i] = static_cast<uint64_t>(i + depth);
  return words[depth] + (depth > 0 ? other_frame(depth - 1) : 0);
}

TEST_F(WatchGuards, AFrameThatEndedIsNoUse) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    GuardHandle used = watch_in_frame(true);
    CHECK(lower_guard(used).by == TouchBy::program);
    GuardHandle guard = watch_in_frame(false);
    CHECK(guard != kNoGuard && collect(guard).by == TouchBy::nobody);
    CHECK(other_frame(3) != 0);
    CHECK(lower_guard(guard).by == TouchBy::gone);
  });
}

// ---- the page is shared ----

// A small block of the heap beside what another thread waits on: by pages there is no guard for it.
TEST_F(WatchGuards, ACallUnderWayElsewhereOnThePage) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(4096) static volatile uint64_t page[512];
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    GuardHandle dispatched = raise_guard(AddressRange::of(reinterpret_cast<uintptr_t>(&page[0]), 8),
                                         Protection::no_access, {WatchMethod::watchpoints, 1, {}});
    CHECK(dispatched != kNoGuard);
    pthread_t reader;
    CHECK(pthread_create(
              &reader, nullptr,
              [](void* end) -> void* {
                CHECK(read(*static_cast<int*>(end), const_cast<uint64_t*>(&page[100]), 8) == 8);
                return nullptr;
              },
              &pipes[0]) == 0);
    usleep(50'000);
    auto at = [](int word) { return AddressRange::of(reinterpret_cast<uintptr_t>(&page[word]), 8); };
    CHECK(raise_guard(at(100), Protection::no_access, {WatchMethod::watchpoints, 1, {}}) == kNoGuard);
    GuardHandle beside = raise_guard(at(101), Protection::no_access, {WatchMethod::watchpoints, 1, {}});
    CHECK(beside != kNoGuard);
    CHECK(write(pipes[1], "12345678", 8) == 8);
    CHECK(pthread_join(reader, nullptr) == 0);
    CHECK(collect(beside).by == TouchBy::nobody);
    page[101] = 1;
    CHECK(lower_guard(beside).by == TouchBy::program);
  });
}

// ---- more ranges than registers ----

TEST_F(WatchGuards, WhoHasRegistersKeepsThem) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(64) static volatile uint64_t words[64];
    GuardHandle first[4];
    for (int i = 0; i < 4; ++i) CHECK((first[i] = watch(&words[i], 8)) != kNoGuard);
    CHECK(watch(&words[8], 8) == kNoGuard);
    CHECK(why_no_watchpoints() == NoWatchpoints::all_taken);
    words[2] = 1;
    CHECK(watch(&words[8], 16) == kNoGuard);  // one is free, and two are wanted
    GuardHandle last = watch(&words[8], 8);
    CHECK(last != kNoGuard);
    CHECK(collect(first[2]).by == TouchBy::program);
    for (int i : {0, 1, 3}) CHECK(lower_guard(first[i]).by == TouchBy::nobody);
    CHECK(lower_guard(last).by == TouchBy::nobody);
  });
}

// ---- signals, forks, files ----

std::atomic<int> program_traps{0};

TEST_F(WatchGuards, TheProgramsTrapHandlerIsCalledForItsOwn) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    struct sigaction action {};
    action.sa_handler = [](int) { ++program_traps; };
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    alignas(8) static volatile uint64_t word;
    for (int i = 0; i < 10; ++i) {
      GuardHandle guard = watch(&word, 8);
      word = 1;
      CHECK(lower_guard(guard).by == TouchBy::program);
      asm volatile("int3");
      raise(SIGTRAP);
    }
    CHECK(program_traps == 20);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTRAP);
    CHECK(pthread_sigmask(SIG_BLOCK, &blocked, nullptr) == 0);
    GuardHandle guard = watch(&word, 8);
    word = 2;
    CHECK(collect(guard).by == TouchBy::program && program_traps == 20);
    raise(SIGTRAP);
    action.sa_handler = SIG_IGN;
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    lower_guard(guard);
    guard = watch(&word, 8);
    word = 3;
    CHECK(collect(guard).by == TouchBy::program);
  });
}

TEST_F(WatchGuards, AForkTakesThemDownAndTheChildIsFree) {
  RUN_IN_CHILD({
    bool open_before[4096];
    for (int file = 0; file < 4096; ++file) open_before[file] = fcntl(file, F_GETFD) != -1;
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    pid_t child = fork();
    if (child == 0) {
      word = 1;
      for (int file = 0; file < 4096; ++file) CHECK(open_before[file] == (fcntl(file, F_GETFD) != -1));
      _exit(7);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    word = 2;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST_F(WatchGuards, AnExecLeavesNothingBehind) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    CHECK(watch(&word, 8) != kNoGuard);
    execl("/bin/sh", "sh", "-c", "! ls -l /proc/$$/fd | grep -q perf", nullptr);
    _exit(9);
  });
}

TEST_F(WatchGuards, FilesThatTheProgramClosesAreNoticed) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    for (int file = 1000; file >= 3; --file) close(file);  // by the usual loop, or at once
    CHECK(syscall(SYS_close_range, 3u, ~0u, 0u) == 0);
    word = 1;
    CHECK(lower_guard(guard).by != TouchBy::nobody);
    CHECK(watch(&word, 8) == kNoGuard);
    // The numbers are the program's.
    for (int i = 0; i < 600; ++i) CHECK(open("/dev/null", O_RDONLY) == 3 + i);
    word = 2;
    GuardHandle again = watch(&word, 8);
    CHECK(again == kNoGuard);
    for (int i = 0; i < 600; ++i) CHECK(fcntl(3 + i, F_GETFD) == 0);
  });
}

// As in many containers.
TEST(NoWatchpointsHere, WherePerfIsRefused) {
  RUN_IN_CHILD({
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program{4, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    CHECK(start_guards());
    alignas(8) static volatile uint64_t word;
    for (int i = 0; i < 3; ++i) {
      CHECK(watch(&word, 8) == kNoGuard && why_no_watchpoints() == NoWatchpoints::none_here);
      word = 1;
    }
    char* memory = pages(2);  // pages are guarded as ever
    GuardHandle guard = raise_guard(range_of(memory, 2 * 4096), Protection::no_access);
    memory[5] = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

TEST_F(WatchGuards, TakeNoneOfTheProgramsFiles) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    rlimit before{300, 0}, after{};
    rlimit was{};
    CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
    before.rlim_max = was.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    alignas(8) static volatile uint64_t word;
    GuardHandle guard = watch(&word, 8);
    CHECK(guard != kNoGuard);
    CHECK(getrlimit(RLIMIT_NOFILE, &after) == 0 && after.rlim_cur == 300);
    int files = 0;
    for (int file = 0; file < 300; ++file) files += fcntl(file, F_GETFD) != -1;
    while (open("/dev/null", O_RDONLY) >= 0) ++files;
    CHECK(errno == EMFILE && (files == 300 || was.rlim_max < 600));
    for (int file = 3; file < 300; ++file) close(file);
    word = 1;
    CHECK(lower_guard(guard).by == TouchBy::program);
  });
}

// A page guard's step and a watchpoint in the same instruction.
TEST_F(WatchGuards, ATouchByAnInstructionThatIsSteppedOver) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle page = raise_guard(range_of(memory + 1024, 64), Protection::no_access);
    GuardHandle word = watch(memory + 8, 8);
    CHECK(page != kNoGuard && word != kNoGuard);
    *reinterpret_cast<volatile uint64_t*>(memory + 16) = 1;
    CHECK(collect(word).by == TouchBy::nobody && collect(page).by == TouchBy::nobody);
    *reinterpret_cast<volatile uint64_t*>(memory + 8) = 1;
    CHECK(collect(word).by == TouchBy::program && collect(page).by == TouchBy::nobody);
    *reinterpret_cast<volatile uint64_t*>(memory + 8) = 2;
    CHECK(collect(page).by == TouchBy::nobody);
    memory[1024] = 1;
    CHECK(collect(page).by == TouchBy::program);
  });
}

TEST_F(WatchGuards, OtherEventsOfTheProgramAreItsOwn) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    struct sigaction action {};
    action.sa_handler = [](int) { ++program_traps; };
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    alignas(8) static volatile uint64_t theirs;
    alignas(8) static volatile uint64_t ours[4];
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.size = sizeof attributes;
    attributes.bp_type = 3;
    attributes.bp_addr = reinterpret_cast<uint64_t>(&theirs);
    attributes.bp_len = 8;
    attributes.sample_period = 1;
    attributes.sigtrap = attributes.remove_on_exec = attributes.exclude_kernel = attributes.exclude_hv = 1;
    CHECK(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0);
    GuardHandle guard = watch(ours, 24);  // three are left
    CHECK(guard != kNoGuard && watch(&ours[3], 8) == kNoGuard);
    theirs = 1;
    CHECK(program_traps == 1 && collect(guard).by == TouchBy::nobody);
    ours[1] = 1;
    CHECK(program_traps == 1 && collect(guard).by == TouchBy::program);
  });
}

}  // namespace
}  // namespace diogenes::agent
