// A program that goes on for ever, recorded in windows: what it does in them is reported, it does what it does alone, and nothing
// stays when whoever opened a window is killed. No test here asks how long anything takes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "ffm/control_page.h"
#include "measured.h"
#include "trace/mapped_file.h"
#include "trace/windows.h"

namespace diogenes::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A minute is for machines that starve.
bool comes(const std::function<bool()>& happens) {
  for (int i = 0; i < 3000; ++i) {
    if (happens()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

class Running {
 public:
  explicit Running(const std::vector<std::string>& options) {
    std::vector<std::string> words = {built("bin/diogenes"), "profile",  "--driver",
                                      "simulated",           "--output", session()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", built("bin/tests/programs/steps"), end_file()});
    launcher_ = std::thread([this, words] {
      run_ = bench::run_process(words, {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache")}});
    });
  }
  ~Running() { end(); }

  std::string session() const { return folder_.path() / "steps.diogenes"; }
  fs::path stage() const { return fs::path(session()) / "gpu-times"; }
  // The program ends by itself.
  const bench::ProcessRun& end() {
    std::ofstream(end_file()) << "end";
    if (launcher_.joinable()) launcher_.join();
    return run_;
  }
  // Its process id, of its folder's name.
  long program() const {
    for (const auto& entry : fs::directory_iterator(stage()))
      if (entry.is_directory()) {
        const std::string name = entry.path().filename();
        return std::stol(name.substr(name.rfind('-') + 1));
      }
    return 0;
  }
  // It has used CUDA: its folder is there.
  bool works() const {
    return comes([this] {
      std::error_code failed;
      for (const auto& entry : fs::directory_iterator(stage(), failed))
        if (fs::exists(entry.path() / "process", failed)) return true;
      return false;
    });
  }
  bench::ProcessRun tool(std::vector<std::string> words) const {
    words.insert(words.begin(), built("bin/diogenes"));
    return bench::run_process(words, {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache")}});
  }
  uint64_t records() const {
    auto read = read_stage(stage());
    uint64_t count = 0;
    if (read)
      for (const ProcessTrace& process : read->processes)
        for (const ThreadTrace& thread : process.threads) count += thread.record_count();
    return count;
  }
  // That the program has made so far.
  uint64_t calls() const {
    uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(stage())) {
      if (!entry.is_directory()) continue;
      auto file = MappedFile::open(entry.path() / kCallsFile);
      for (size_t i = 0; i < kMostCounted; ++i)
        if (const auto* count = file ? file->at<CallCount>(i * sizeof(CallCount)) : nullptr)
          sum += count->calls;
    }
    return sum;
  }
  struct Page {
    int64_t until_ns = 0;
    uint32_t recording = 0;
  };
  Page page() const {
    auto file = MappedFile::open(stage() / kControlFile);
    const auto* page = file ? file->at<ControlPage>(0) : nullptr;
    return page ? Page{page->until_ns.load(), page->recording.load()} : Page{};
  }

 private:
  std::string end_file() const { return folder_.path() / "end"; }

  bench::TemporaryFolder folder_;
  bench::ProcessRun run_;
  std::thread launcher_;
};

json report_of(const Running& running, const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {"report", running.session(), "--format", "json"};
  words.insert(words.end(), options.begin(), options.end());
  return json::parse(running.tool(words).output, nullptr, false);
}

uint64_t kernels(const json& report) {
  uint64_t count = 0;
  for (const json& work : report.at("profile").at("work"))
    if (work.at("kind") == "kernel") count += work.at("count").get<uint64_t>();
  return count;
}

TEST(WindowsInAProgramThatGoesOn, AreOpenedAsOftenAsWanted) {
  Running running({"--wait"});
  ASSERT_TRUE(running.works());
  const uint64_t before = running.records();  // cuInit alone
  EXPECT_LE(before, 16u);

  const bench::ProcessRun first = running.tool({"start", running.session(), "--duration", "0.5"});
  EXPECT_EQ(first.exit_status, 0) << first.errors;
  EXPECT_NE(first.output.find("recorded for"), std::string::npos) << first.output;
  EXPECT_EQ(running.page().recording, 0u) << "a call of the program's ended it";
  const uint64_t one = running.records();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(running.records(), one) << "between windows nothing is recorded";
  const bench::ProcessRun second = running.tool({"start", running.session(), "--duration", "0.5"});
  EXPECT_EQ(second.exit_status, 0) << second.errors;
  EXPECT_NE(second.output.find("(window 2 of 2)"), std::string::npos) << second.output;

  const std::vector<Window> windows = read_windows(running.stage());
  ASSERT_EQ(windows.size(), 2u);
  for (const Window& window : windows) {
    EXPECT_GE(window.undisturbed_ns, 125'000'000);
    EXPECT_GT(window.work, 0u) << "what the program gives the GPU is counted";
  }

  const json of_first = report_of(running, {"--window", "1"}), of_second = report_of(running);
  for (const json& report : {of_first, of_second}) {
    ASSERT_TRUE(report.is_object());
    EXPECT_GT(kernels(report), 0u);
    const json& slowdown = report["application"]["window"]["slowdown"];
    EXPECT_TRUE(slowdown.is_null() || slowdown > 0) << slowdown;
    EXPECT_NEAR(report["application"]["runtime_s"], report["application"]["window"]["seconds"], 1e-9);
  }
  EXPECT_EQ(of_first["application"]["window"]["number"], 1);
  EXPECT_EQ(of_second["application"]["window"]["number"], 2);
  EXPECT_GT(of_second["application"]["window"]["after_s"], of_first["application"]["window"]["after_s"]);

  EXPECT_EQ(running.tool({"stop", running.session()}).exit_status, 1);
  EXPECT_EQ(running.tool({"report", running.session(), "--window", "3"}).exit_status, 2);
  const bench::ProcessRun& run = running.end();
  EXPECT_EQ(run.exit_status, 3) << run.errors;
  EXPECT_EQ(run.output, "all steps were right\n");
  EXPECT_NE(run.errors.find("recorded 2 windows"), std::string::npos) << run.errors;
  EXPECT_EQ(running.tool({"start", running.session()}).exit_status, 125) << "it has ended";
}

// What the kernel says of the program: threads, watchpoints, and the rights of what it has mapped of files other than ours.
struct Seen {
  long threads = 0, watchpoints = 0;
  std::vector<std::string> mapped;
};
Seen seen_of(const Running& running) {
  Seen seen;
  const fs::path process = fs::path("/proc") / std::to_string(running.program());
  seen.threads = std::distance(fs::directory_iterator(process / "task"), {});
  for (const auto& file : fs::directory_iterator(process / "fd")) {
    std::error_code gone;
    seen.watchpoints += fs::read_symlink(file.path(), gone).string().find("perf_event") != std::string::npos;
  }
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find('/') != std::string::npos && line.find(running.session()) == std::string::npos)
      seen.mapped.push_back(line);
  return seen;
}

TEST(WindowsInAProgramThatGoesOn, LeaveNothingBehind) {
  Running running({"--wait"});
  ASSERT_TRUE(running.works());
  // Once, for what the driver and the agent make when they first come to it.
  ASSERT_EQ(running.tool({"start", running.session(), "--duration", "0.2"}).exit_status, 0);
  const Seen before = seen_of(running);
  EXPECT_GE(before.threads, 1);
  EXPECT_GT(before.mapped.size(), 10u);
  ASSERT_EQ(running.tool({"start", running.session(), "--duration", "0.2"}).exit_status, 0);
  const Seen after = seen_of(running);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.watchpoints, 0);
  EXPECT_EQ(after.mapped, before.mapped);
}

TEST(WindowsInAProgramThatGoesOn, EndWithWhoeverOpenedThem) {
  Running running({"--wait"});
  ASSERT_TRUE(running.works());
  const pid_t opener = fork();
  if (opener == 0) {
    const std::string tool = built("bin/diogenes");
    execl(tool.c_str(), tool.c_str(), "start", running.session().c_str(), "--duration", "1000", nullptr);
    _exit(127);
  }
  ASSERT_TRUE(comes([&] { return running.page().recording > 0; }));
  kill(opener, SIGKILL);
  waitpid(opener, nullptr, 0);
  EXPECT_TRUE(comes([&] { return running.page().recording == 0 && running.page().until_ns == 0; }));
  const bench::ProcessRun next = running.tool({"start", running.session(), "--duration", "0.3"});
  EXPECT_EQ(next.exit_status, 0) << next.errors;
  EXPECT_EQ(read_windows(running.stage()).size(), 1u);
  EXPECT_EQ(running.end().output, "all steps were right\n");
}

TEST(WindowsInAProgramThatGoesOn, EndWhenSomebodySaysStop) {
  Running running({"--delay", "0.1", "--duration", "1000"});
  ASSERT_TRUE(running.works());
  ASSERT_TRUE(comes([&] { return running.page().recording > 0; }));
  EXPECT_EQ(running.tool({"start", running.session()}).exit_status, 125) << "one at a time";
  EXPECT_EQ(running.tool({"stop", running.session()}).exit_status, 0);
  EXPECT_TRUE(comes([&] { return read_windows(running.stage()).size() == 1; }));
  const bench::ProcessRun& run = running.end();
  EXPECT_EQ(run.output, "all steps were right\n");
  EXPECT_NE(run.errors.find("recorded for"), std::string::npos) << run.errors;
}

TEST(WindowsInAProgramThatGoesOn, EndWithTheProgram) {
  Running running({"--delay", "0.1"});
  ASSERT_TRUE(running.works());
  ASSERT_TRUE(comes([&] { return running.page().recording > 0; }));
  // Some steps lie in the window, however slow they are.
  const uint64_t before = running.calls();
  ASSERT_TRUE(comes([&] { return running.calls() >= before + 100; }));
  const bench::ProcessRun& run = running.end();
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_NE(run.errors.find("recorded for"), std::string::npos) << run.errors;
  EXPECT_GT(kernels(report_of(running)), 0u);
}

TEST(WindowsInAProgramThatGoesOn, ComeAgainAndAgain) {
  Running running({"--delay", "0.1", "--duration", "0.2", "--each", "0.3"});
  ASSERT_TRUE(running.works());
  ASSERT_TRUE(comes([&] { return read_windows(running.stage()).size() >= 3; }));
  const bench::ProcessRun& run = running.end();
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_EQ(run.output, "all steps were right\n");
  const std::vector<Window> windows = read_windows(running.stage());
  for (size_t i = 1; i < windows.size(); ++i)
    EXPECT_GE(windows[i].begin_ns - windows[i - 1].begin_ns, 300'000'000);
  EXPECT_NE(run.errors.find("(window 2 of 2)"), std::string::npos) << run.errors;
  EXPECT_NE(run.errors.find("recorded " + std::to_string(windows.size()) + " windows"), std::string::npos)
      << run.errors;
}

TEST(WindowsInAProgramThatGoesOn, MayTakeAShareOfTheTime) {
  Running running({"--duration", "0.2", "--share", "0.25"});
  ASSERT_TRUE(running.works());
  ASSERT_TRUE(comes([&] { return read_windows(running.stage()).size() >= 2; }));
  EXPECT_EQ(running.end().output, "all steps were right\n");
  const std::vector<Window> windows = read_windows(running.stage());
  EXPECT_GE(windows[1].begin_ns - windows[0].begin_ns, 800'000'000);
}

TEST(WindowsInAProgramThatGoesOn, DoNotOverlap) {
  const auto refused = [](const std::vector<std::string>& options) {
    std::vector<std::string> words = {built("bin/diogenes"), "profile"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "true"});
    return bench::run_process(words, {});
  };
  const bench::ProcessRun run = refused({"--duration", "2", "--each", "2"});
  EXPECT_NE(run.exit_status, 0);
  EXPECT_NE(run.errors.find("must be more than --duration"), std::string::npos) << run.errors;
  EXPECT_NE(refused({"--each", "2"}).errors.find("--duration"), std::string::npos);
  EXPECT_NE(refused({"--duration", "2", "--each", "9", "--share", "0.1"}).errors.find("--each"),
            std::string::npos);
  EXPECT_NE(refused({"--wait", "--duration", "2", "--each", "9"}).errors.find("--wait"), std::string::npos);
  EXPECT_NE(refused({"--duration", "2", "--share", "1"}).errors.find("--share"), std::string::npos);
}

TEST(WindowsInAProgramThatGoesOn, AreNotThereWhereItEndedBefore) {
  Running running({"--delay", "1000"});
  ASSERT_TRUE(running.works());
  EXPECT_NE(running.end().errors.find("before --delay was over"), std::string::npos);
}

TEST(WindowsInAProgramThatGoesOn, AreNotThereInAProfileOfTheWholeRun) {
  Running running({});
  ASSERT_TRUE(running.works());
  const bench::ProcessRun refused = running.tool({"start", running.session()});
  EXPECT_EQ(refused.exit_status, 125);
  EXPECT_NE(refused.errors.find("--wait"), std::string::npos) << refused.errors;
  running.end();
}

}  // namespace
}  // namespace diogenes::e2e
