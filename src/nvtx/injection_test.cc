// The built library, with an instance of NVTX that calls it. Each test is a process of its own: the library takes its
// settings once, before main.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "ffm/plan.h"
#include "nvtx/testing/instance.h"
#include "trace/nvtx_ranges.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::nvtx {
namespace {

using diogenes::testing::TemporaryFolder;
using testing::Instance;

// What a process wrote that calls NVTX as `program` does, with --region train.
std::vector<NvtxRanges> written_by(const std::function<void(Instance&)>& program) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    setenv(kPlanVariable, (folder.path() / "plan").c_str(), 1);
    setenv(kRegionVariable, "train", 1);
    setenv(kNvtxVariable, DIOGENES_NVTX, 1);
    Instance instance;
    if (!instance.load()) _exit(1);
    errno = 77;
    program(instance);
    _exit(errno == 77 ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "1: it could not be loaded, 2: it changed errno";
  return read_nvtx_ranges(folder.path());
}

// Begins and ends, in the order of their times.
std::string marks_of(const std::vector<NvtxRanges>& files) {
  std::string text;
  for (const NvtxRanges& file : files) {
    if (!text.empty()) text += ' ';
    for (const NvtxRanges::Mark& mark : file.marks) text += mark.change > 0 ? '(' : ')';
  }
  return text;
}

TEST(Injection, HearsAllWaysToNameARange) {
  const auto files = written_by([](Instance& nvtx) {
    nvtx.push("train"), nvtx.pop();
    nvtx.push(L"train"), nvtx.pop();
    nvtx.push(Instance::named("train")), nvtx.pop();
    nvtx.push(Instance::named(L"train")), nvtx.pop();
    const Domain domain = nvtx.domain("mine");
    nvtx.push(Instance::named(nvtx.string(domain, "train"))), nvtx.pop();
    nvtx.push(domain, Instance::named(nvtx.string(domain, L"train"))), nvtx.pop(domain);
    nvtx.end(nvtx.start("train"));
    nvtx.end(nvtx.start(L"train"));
    nvtx.end(nvtx.start(Instance::named("train")));
    nvtx.end(domain, nvtx.start(domain, Instance::named("train")));
  });
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(marks_of(files), "()()()()()()()()()()");
  EXPECT_EQ(files[0].lost, 0u);
  EXPECT_TRUE(files[0].names.empty());
  EXPECT_GT(files[0].marks.front().at, files[0].created);
}

TEST(Injection, NotesOtherRangesByName) {
  const auto files = written_by([](Instance& nvtx) {
    nvtx.push("load"), nvtx.pop();
    nvtx.push("load"), nvtx.pop();
    const StringHandle entered = nvtx.string(0, "epoch"), not_entered = nvtx.string(0, "mark");
    nvtx.push(Instance::named(entered)), nvtx.pop();
    if (entered == not_entered || nvtx.start(L"caf\u00e9") != 0) _exit(3);
  });
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].names, (std::vector<std::string>{"caf\u00e9", "epoch", "load"}));
  EXPECT_TRUE(files[0].marks.empty());
  const auto many = written_by([](Instance& nvtx) {
    for (int i = 0; i < 100; ++i) nvtx.push(("step " + std::to_string(i)).c_str());
  });
  ASSERT_EQ(many.size(), 1u);
  EXPECT_EQ(many[0].names.size(), size_t{kMostNvtxNames});
  EXPECT_TRUE(many[0].more_names);
}

TEST(Injection, SurvivesWhatIsWrong) {
  const auto files = written_by([](Instance& nvtx) {
    for (int i = 0; i < 3; ++i) nvtx.pop();
    nvtx.push(static_cast<const char*>(nullptr));
    nvtx.push(reinterpret_cast<const wchar_t*>(uintptr_t{64}));
    nvtx.push(static_cast<const Attributes*>(nullptr));
    nvtx.push(Instance::named(reinterpret_cast<const char*>(uintptr_t{64})));
    nvtx.push(Instance::named(StringHandle{0}));
    nvtx.push(12345, Instance::named("train"));
    for (int i = 0; i < 7; ++i) nvtx.pop();
    nvtx.end(42);
    nvtx.pop(999);
    if (nvtx.domain(static_cast<const char*>(nullptr)) != 0) _exit(3);
    close_range(3, ~0U, 0);
    nvtx.push("train");
  });
  EXPECT_EQ(marks_of(files), "((") << "of which none is ended";
}

TEST(Injection, CallsReturnWhatTheyDoWithoutATool) {
  written_by([](Instance& nvtx) {
    if (nvtx.push("train") != kNoTracking || nvtx.push("other") != kNoTracking || nvtx.pop() != kNoTracking ||
        nvtx.start("other") != 0)
      _exit(3);
  });
}

TEST(Injection, LosesNothingOfManyThreads) {
  constexpr size_t kThreads = 8, kEach = 5000;  // more than one part of the file
  const auto files = written_by([](Instance& nvtx) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (size_t k = 0; k < kEach; ++k) {
          nvtx.push("train");
          nvtx.push("train");
          nvtx.pop();
          nvtx.pop();
        }
      });
    for (std::thread& thread : threads) thread.join();
    errno = 77;
  });
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].marks.size(), 2 * kThreads * kEach);
  EXPECT_EQ(files[0].lost, 0u);
  int64_t open = 0;
  for (const NvtxRanges::Mark& mark : files[0].marks) {
    open += mark.change;
    ASSERT_GE(open, 0);
    ASSERT_LE(open, static_cast<int64_t>(kThreads));
  }
  EXPECT_EQ(open, 0);
}

TEST(Injection, AForkedChildHasAFileOfItsOwn) {
  const auto files = written_by([](Instance& nvtx) {
    nvtx.push("train");
    const pid_t child = fork();
    if (child == 0) {
      nvtx.pop();  // of the parent's range
      nvtx.push("train");
      nvtx.push("load");
      nvtx.pop();
      nvtx.pop();
      nvtx.push("train");
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    nvtx.pop();
  });
  ASSERT_EQ(files.size(), 2u);
  EXPECT_NE(files[0].pid, files[1].pid);
  const std::string marks = marks_of(files);
  EXPECT_TRUE(marks == "() ()(" || marks == "()( ()") << marks;
}

TEST(Injection, WithoutAFolderNothingIsWritten) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    setenv(kPlanVariable, (folder.path() / "gone" / "plan").c_str(), 1);
    setenv(kRegionVariable, "train", 1);
    setenv(kNvtxVariable, DIOGENES_NVTX, 1);
    Instance nvtx;
    if (!nvtx.load()) _exit(1);
    nvtx.push("train");
    nvtx.push("load");
    nvtx.pop();
    nvtx.pop();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Injection, WithoutARegionItStepsAside) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv(kRegionVariable);
    setenv(kNvtxVariable, DIOGENES_NVTX, 1);
    Instance nvtx;
    _exit(nvtx.load() ? 1 : nvtx.push("train") == kNoTracking ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace diogenes::nvtx
