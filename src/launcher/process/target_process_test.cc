// Runs small shell programs as `diogenes run` would run the user's, and looks at what came back.
#include "launcher/process/target_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "launcher/process/process_tree.h"
#include "launcher/process/program_file.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

class TargetProcess : public ::testing::Test {
 protected:
  static Target shell(const std::string& script) {
    return {.program = "/bin/sh", .arguments = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
  }
  fs::path script(const std::string& name, const std::string& text, fs::perms mode) {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, mode);
    return folder_ / name;
  }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const diogenes::testing::TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
};

TEST_F(TargetProcess, ExitStatusIsTheProgramsOwn) {
  auto result = run_target(shell("exit 7"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 7);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->exec_error, 0);
}

TEST_F(TargetProcess, ASignalIs128AndItsNumber) {
  auto result = run_target(shell("kill -SEGV $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 128 + SIGSEGV);
  EXPECT_EQ(result->signal, SIGSEGV);
}

TEST_F(TargetProcess, RuntimeIsFromExecToExit) {
  auto result = run_target(shell("sleep 0.3"));
  ASSERT_TRUE(result);
  EXPECT_GE(result->runtime.seconds(), 0.3);
  EXPECT_LT(result->runtime.seconds(), 1.0);
  EXPECT_LT(result->cpu_s, 0.2);
}

TEST_F(TargetProcess, CpuTimeIsCounted) {
  auto result = run_target(shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"));
  ASSERT_TRUE(result);
  EXPECT_GT(result->cpu_s, 0.01);
  EXPECT_LE(result->cpu_s, result->runtime.seconds() + 0.05);
}

TEST_F(TargetProcess, AFailedExecSaysWhy) {
  Target target{.program = folder_ / "absent", .arguments = {"absent"}, .environment = {}};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exec_error, ENOENT);
}

TEST_F(TargetProcess, AScriptWithoutAFirstLineRunsInTheShell) {
  Target target{.program = script("plain", "exit $(($1 + 1))\n", fs::perms::owner_all),
                .arguments = {"plain", "4"},
                .environment = {"PATH=/usr/bin:/bin"}};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exec_error, 0);
  EXPECT_EQ(result->exit_status, 5);
}

TEST_F(TargetProcess, RelayedOutputArrivesByteForByte) {
  OutputCopy out(folder_ / "out"), err(folder_ / "err");
  Target target = shell("printf 'a\\000b\\n'; echo oops >&2; head -c 300000 /dev/zero");
  target.output = {.kind = StreamRoute::Kind::relay, .copy = &out};
  target.errors = {.kind = StreamRoute::Kind::relay, .copy = &err};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_EQ(out.length(), 300004u);
  EXPECT_EQ(read(folder_ / "out").substr(0, 4), std::string("a\0b\n", 4));
  EXPECT_EQ(read(folder_ / "err"), "oops\n");
}

TEST_F(TargetProcess, JoinedStreamsKeepTheirOrder) {
  OutputCopy out(folder_ / "out");
  Target target = shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
  target.output = {.kind = StreamRoute::Kind::relay, .copy = &out};
  target.errors = {.kind = StreamRoute::Kind::with_stdout};
  ASSERT_TRUE(run_target(target));
  EXPECT_EQ(read(folder_ / "out"), "1\n2\n3\n4\n");
}

TEST_F(TargetProcess, GigabytesFillNoDisk) {
  OutputCopy out(folder_ / "out", 1 << 20);
  Target target = shell("head -c 1073741824 /dev/zero");
  target.output = {.kind = StreamRoute::Kind::relay, .copy = &out};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_EQ(out.length(), uint64_t{1} << 30);
  EXPECT_EQ(fs::file_size(folder_ / "out"), uint64_t{1} << 20);
}

TEST_F(TargetProcess, InputIsRelayedAndKept) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  std::thread writer([fd = ends[1]] {
    std::string text(200000, 'x');
    for (size_t at = 0; at < text.size();)
      at += static_cast<size_t>(write(fd, text.data() + at, text.size() - at));
    close(fd);
  });
  OutputCopy in(folder_ / "in", UINT64_MAX), out(folder_ / "out");
  Target target = shell("wc -c");
  target.input = {.kind = StreamRoute::Kind::relay, .fd = ends[0], .copy = &in};
  target.output = {.kind = StreamRoute::Kind::relay, .copy = &out};
  auto result = run_target(target);
  writer.join();
  close(ends[0]);
  ASSERT_TRUE(result);
  EXPECT_EQ(read(folder_ / "out"), "200000\n");
  EXPECT_EQ(in.kept(), 200000u);
}

TEST_F(TargetProcess, AnOpenInputThatIsNotReadDelaysNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  Target target = shell("exit 0");
  target.input = {.kind = StreamRoute::Kind::relay, .fd = ends[0]};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_LT(result->runtime.seconds(), 5.0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(TargetProcess, AReaderThatLeavesEndsTheProgramAsItWouldWithoutUs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  Target target = shell("exec yes");
  target.output = {.kind = StreamRoute::Kind::relay, .fd = ends[1]};
  auto result = run_target(target);
  close(ends[1]);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGPIPE);
  EXPECT_TRUE(result->reader_left);
}

TEST_F(TargetProcess, TheLimitEndsTheProgramAndItsChildren) {
  Target target = shell("sleep 61.25 & sleep 61.5; exit 0");
  target.limit = {300'000'000};
  auto begin = monotonic_now();
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGTERM);
  EXPECT_LT((monotonic_now() - begin).seconds(), 4.0);
  EXPECT_EQ(process_tree(getpid()).size(), 1u) << "a child is left";
}

TEST_F(TargetProcess, AProgramThatIgnoresTheFirstSignalIsKilled) {
  Target target = shell("trap '' TERM; while :; do sleep 0.1; done");
  target.limit = {200'000'000};
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST_F(TargetProcess, ASignalToUsAloneIsHandedOn) {
  std::thread sender([] {
    sigset_t set;  // the other thread has to take the signal
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(getpid(), SIGTERM);
  });
  Target target = shell("trap 'exit 9' TERM; while :; do sleep 0.05; done");
  target.limit = {20'000'000'000};
  auto result = run_target(target);
  sender.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->interrupted_by, SIGTERM);
  EXPECT_EQ(result->exit_status, 9);
}

char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name = text.rfind(')');
  return name == std::string::npos ? '?' : text[name + 2];
}

// Ctrl-Z: we stop when the program has, and go on with it. Without a terminal, SIGTSTP may stop nobody.
TEST_F(TargetProcess, ATimeInWhichTheJobIsStoppedIsNoRunTime) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const fs::path ready = folder_ / "ready";
  const Nanoseconds begin = monotonic_now();
  const pid_t job = fork();
  if (job == 0) {
    Target target = shell("trap 'kill -STOP $$; exit 3' TSTP; echo >" + ready.string() +
                          "; while :; do sleep 0.01; done");
    auto result = run_target(target);
    const Nanoseconds told = result && result->exit_status == 3 && result->interrupted_by == 0
                                 ? result->runtime
                                 : Nanoseconds{INT64_MAX};
    _exit(write(ends[1], &told, sizeof told) == sizeof told ? 0 : 1);
  }
  close(ends[1]);
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  while (!fs::exists(ready)) pause();
  kill(job, SIGTSTP);
  while (state_of(job) != 'T') pause();
  const Nanoseconds stopped = monotonic_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Nanoseconds stood_still = monotonic_now() - stopped;
  kill(job, SIGCONT);
  Nanoseconds runtime;
  ASSERT_EQ(::read(ends[0], &runtime, sizeof runtime), ssize_t{sizeof runtime});
  ASSERT_EQ(waitpid(job, nullptr, 0), job);
  EXPECT_LE(runtime, monotonic_now() - begin - stood_still);
  close(ends[0]);
}

TEST_F(TargetProcess, ADaemonThatHoldsTheOutputDoesNotHoldUs) {
  OutputCopy out(folder_ / "out");
  Target target = shell("echo done; sleep 30 &");
  target.output = {.kind = StreamRoute::Kind::relay, .copy = &out};
  auto begin = monotonic_now();
  auto result = run_target(target);
  ASSERT_TRUE(result);
  EXPECT_EQ(read(folder_ / "out"), "done\n");
  EXPECT_LT((monotonic_now() - begin).seconds(), 5.0);
  EXPECT_LT(result->runtime.seconds(), 1.0);
}

TEST_F(TargetProcess, ProgramsAreFoundAsTheShellFindsThem) {
  EXPECT_EQ(find_program("sh").status, 0);
  EXPECT_EQ(find_program("no-such-program-here").status, 127);
  EXPECT_EQ(find_program("./no/such/file").status, 127);
  EXPECT_EQ(find_program(folder_.string()).status, 126);
  auto plain = script("plain", "x", fs::perms::owner_read);
  EXPECT_EQ(find_program(plain.string()).status, 126);
  EXPECT_NE(find_program(plain.string()).problem.find("chmod +x"), std::string::npos);
  EXPECT_EQ(exec_problem(plain, ENOENT).status, 126);
  EXPECT_FALSE(is_static("/bin/sh"));
  EXPECT_FALSE(is_static(plain));
  EXPECT_FALSE(is_foreign("/bin/sh"));
}

TEST_F(TargetProcess, DifferencesAreNamedByLine) {
  OutputCopy a(folder_ / "a"), b(folder_ / "b"), c(folder_ / "c");
  a.add(std::string_view("one\ntwo\nthree\n"));
  b.add(std::string_view("one\ntwo\nthree\n"));
  c.add(std::string_view("one\ntwo\nfour\n"));
  EXPECT_TRUE(a.same_as(b));
  EXPECT_FALSE(a.same_as(c));
  EXPECT_EQ(a.difference(c), "at line 3");
}

TEST_F(TargetProcess, NumbersAloneMayDiffer) {
  auto only_figures = [this](std::string_view one, std::string_view other) {
    OutputCopy a(folder_ / "a"), b(folder_ / "b");
    a.add(one);
    b.add(other);
    return a.only_figures_differ(b) && b.only_figures_differ(a);
  };
  EXPECT_TRUE(only_figures("took 1.5 ms\n", "took 12e-3 ms\n"));
  EXPECT_FALSE(only_figures("| 9.5 |\n", "|10.5 |\n"));  // a blank less
  EXPECT_TRUE(only_figures("|  9.5 |\n", "| 10.5 |\n"));
  EXPECT_FALSE(only_figures("took 1.5 ms\n", "took 1.5 s\n"));
  EXPECT_FALSE(only_figures("took 1.5\n", "took 1.5\nmore\n"));
  EXPECT_FALSE(only_figures("took -1\n", "took 1\n"));
  EXPECT_TRUE(only_figures("", ""));
}

}  // namespace
}  // namespace diogenes::launcher
