// The built plug-in that samples, opened by that of GPU times, with libraries that play CUPTI and the driver.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "driver/cubin_file.h"
#include "driver/gpu_samples_file.h"
#include "driver/gpu_samples_plug_in.h"
#include "driver/gpu_times_source.h"
#include "gpu_times/testdata/fake_cupti.h"
#include "gpu_times/testdata/fake_pc_sampling.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;
using fake_cupti::Controls;
using fake_cupti::kScoreboard;
using fake_cupti::kScoreboardNotIssued;
using fake_cupti::kSelected;
using fake_cupti::SamplingControls;

std::string load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::vector<uint8_t> cubin(const char* name) {
  const std::string bytes = load(fs::path(DIOGENES_CUBINS) / name);
  return {bytes.begin(), bytes.end()};
}

// The file, as trace/gpu_samples.h lays it out for the analysis, is not for this folder.
struct Read {
  SamplesHeader header{};
  std::vector<std::string> reasons, functions;  // by number, from 1
  std::vector<SampledModule> modules;
  std::vector<SampledDevice> devices;
  std::map<std::string, uint64_t> sums;  // "module function+offset reason"

  explicit Read(const fs::path& folder) {
    const std::string bytes = load(folder / kGpuSamplesFile);
    if (bytes.size() < sizeof header) return;
    memcpy(&header, bytes.data(), sizeof header);
    constexpr std::string_view kFront = "smsp__pcsamp_warps_issue_stalled_";
    for (size_t at = sizeof header; at + sizeof(SampledSum) <= bytes.size(); at += sizeof(SampledSum)) {
      const auto* type = reinterpret_cast<const SampledType*>(bytes.data() + at);
      if (*type == SampledType::none) break;
      if (*type == SampledType::reason || *type == SampledType::function) {
        const auto* name = reinterpret_cast<const SampledName*>(type);
        std::string text = bytes.substr(at + sizeof *name, name->bytes);
        if (text.starts_with(kFront)) text = text.substr(kFront.size());
        (*type == SampledType::reason ? reasons : functions).push_back(text);
        at += (name->bytes + sizeof *name - 1) / sizeof *name * sizeof *name;
      } else if (*type == SampledType::module) {
        modules.push_back(*reinterpret_cast<const SampledModule*>(type));
      } else if (*type == SampledType::device) {
        devices.push_back(*reinterpret_cast<const SampledDevice*>(type));
      } else {
        const auto* sum = reinterpret_cast<const SampledSum*>(type);
        sums[std::to_string(sum->module) + " " + functions.at(sum->function - 1) + "+" +
             std::to_string(sum->offset) + " " + reasons.at(sum->reason - 1)] += sum->samples;
      }
    }
  }
};

using Sums = std::map<std::string, uint64_t>;

// A copy of each library of its own, so that every test starts from nothing. The driver's is found by its name: it is one.
class Samples : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "gpu-samples-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const fs::path plug_in = folder_ / "plug-in.so", cupti = folder_ / (folder_.filename().string() + ".so"),
                   sampler = folder_ / "sampler.so";
    fs::copy_file(DIOGENES_GPU_TIMES, plug_in);
    fs::copy_file(DIOGENES_GPU_SAMPLES_PLUG_IN, sampler);
    fs::copy_file(DIOGENES_FAKE_CUPTI, cupti);
    fs::copy_file(DIOGENES_FAKE_DRIVER, folder_ / "libnvperf_host.so");  // any library is as good
    setenv("DIOGENES_CUPTI", cupti.c_str(), 1);
    setenv(kGpuSamplesVariable, sampler.c_str(), 1);
    ASSERT_NE(dlopen(DIOGENES_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    void* fake = dlopen(cupti.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(fake, nullptr) << dlerror();
    cupti_ = static_cast<Controls*>(dlsym(fake, "fake_cupti"));
    gpu_ = static_cast<SamplingControls*>(dlsym(fake, "fake_pc_sampling"));
    void* library = dlopen(plug_in.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    source_ = static_cast<const GpuTimesSource*>(dlsym(library, kGpuTimesSourceSymbol));
    ASSERT_NE(source_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(gpu_->misuse, std::vector<std::string>{});
    fs::remove_all(folder_);
  }

  void start() { ASSERT_EQ(source_->start(folder_.c_str()), nullptr); }
  Read read() const { return Read(folder_); }
  std::vector<fs::path> kept_code() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("cubin-")) files.push_back(entry.path());
    return files;
  }
  // However long the machine takes.
  static void wait_for(const std::function<bool()>& condition) {
    for (int i = 0; i < 60'000 && !condition(); ++i) usleep(1000);
    ASSERT_TRUE(condition());
  }
  static long threads() { return std::distance(fs::directory_iterator("/proc/self/task"), {}); }
  static void* context(uintptr_t number) { return reinterpret_cast<void*>(number); }

  fs::path folder_;
  Controls* cupti_ = nullptr;
  SamplingControls* gpu_ = nullptr;
  const GpuTimesSource* source_ = nullptr;
  const std::vector<uint8_t> code_ = cubin("subject_sm_90.cubin");
};

TEST_F(Samples, AreSummedByModuleFunctionOffsetAndReason) {
  start();
  gpu_->create(context(1));
  const uint64_t module = gpu_->load(code_);
  gpu_->sample(context(1), {module, 0x110, "_Z4axpyPf", {{kScoreboard, 5}, {kScoreboardNotIssued, 3}}});
  gpu_->sample(context(1), {module, 0x120, "_Z4axpyPf", {{kSelected, 2}}});
  gpu_->sample(context(1), {module, 0x110, "_Z4axpyPf", {{kScoreboard, 4}}, true});
  gpu_->sample(context(1), {module, 0x110, "_Z3dotPf", {{kScoreboard, 1}}, true});
  source_->finish();
  const Read found = read();
  EXPECT_EQ(found.sums, (Sums{{"1 _Z4axpyPf+272 long_scoreboard", 9},
                              {"1 _Z4axpyPf+272 long_scoreboard_not_issued", 3},
                              {"1 _Z4axpyPf+288 selected", 2},
                              {"1 _Z3dotPf+272 long_scoreboard", 1}}));
  EXPECT_EQ(found.header.total, 15u);
  EXPECT_EQ(found.header.period_cycles, 16384u);
  EXPECT_EQ(found.header.failed_step, SamplingStep::none);
  EXPECT_EQ(found.header.ended_ns, 0);
  EXPECT_EQ(gpu_->disabled, 1);
}

TEST_F(Samples, SayOnceWhichGpuTheyAreOf) {
  start();
  gpu_->create(context(1));
  gpu_->create(context(2));
  source_->finish();
  const Read found = read();
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0].multiprocessors, 132u);
  EXPECT_EQ(found.devices[0].domain, 3u);
  EXPECT_EQ(found.devices[0].bus, 0x1bu);
  EXPECT_EQ(found.devices[0].device, 2u);
}

TEST_F(Samples, OfFewCallsAllAreRecordedUntilTheEnd) {
  start();
  gpu_->create(context(1));
  source_->begin(1);
  for (int i = 0; i < 50'000; ++i) cupti_->call();
  source_->end();
  EXPECT_TRUE(source_->record(false)) << "it stays on";
  EXPECT_TRUE(source_->record(true));
  EXPECT_EQ(gpu_->disabled, 0);
  source_->finish();
  EXPECT_EQ(read().header.ended_ns, 0);
}

TEST_F(Samples, EndMeanwhileIfThereAreTooManyCalls) {
  start();
  gpu_->create(context(1));
  gpu_->create(context(2));
  const uint64_t module = gpu_->load(code_);
  gpu_->sample(context(1), {module, 0x110, "f", {{kSelected, 5}}});
  gpu_->sample(context(2), {module, 0x110, "f", {{kSelected, 2}}, true});
  source_->begin(1);
  wait_for([&] {
    for (int i = 0; i < 100'000; ++i) cupti_->call();
    return !source_->record(false);
  });
  source_->end();
  EXPECT_FALSE(cupti_->enabled[cupti::kConcurrentKernel]);
  EXPECT_TRUE(source_->record(true)) << "records begin again behind it";
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(read().sums, (Sums{{"1 f+272 selected", 7}}));
  EXPECT_GT(read().header.ended_ns, 0);
  gpu_->create(context(3));
  gpu_->destroy(context(1));
  source_->finish();
  EXPECT_EQ(gpu_->enabled, 2);
  EXPECT_EQ(gpu_->disabled, 2);
}

// CUPTI would wait for a lock of the driver that the other thread holds, and that one for CUPTI's.
TEST_F(Samples, DoNotEndWhileAnotherThreadIsInACall) {
  start();
  gpu_->create(context(1));
  cupti_->enter();
  std::thread([&] {
    source_->begin(1);
    for (int i = 0; i < 10'000'000; ++i) cupti_->call();
    source_->end();
    EXPECT_TRUE(source_->record(false));
  }).join();
  EXPECT_EQ(gpu_->disabled, 0);
  std::thread([&] { source_->finish(); }).join();
  EXPECT_EQ(gpu_->disabled, 0);
  EXPECT_EQ(read().header.failed_step, SamplingStep::drain) << "what was left is missing, and that is said";
  EXPECT_EQ(read().header.failed_result, cupti::kErrorNotReady);
  cupti_->leave();
}

TEST_F(Samples, WhoEntersACallWhileTheyEndWaits) {
  start();
  gpu_->create(context(1));
  std::atomic<bool> entered{false};
  std::thread other;
  gpu_->while_disabling = [&] {
    other = std::thread([&] {
      cupti_->enter();
      entered = true;
      cupti_->leave();
    });
    usleep(50'000);
    EXPECT_FALSE(entered);
  };
  source_->finish();
  other.join();
  EXPECT_TRUE(entered);
  EXPECT_EQ(gpu_->disabled, 1);
}

// Some are in a call at any time.
TEST_F(Samples, EndThoughThreadsMakeCallsWithoutAPause) {
  start();
  gpu_->create(context(1));
  std::atomic<bool> ends{false};
  std::atomic<int> calling{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      for (bool first = true; !ends; first = false) {
        cupti_->enter();
        if (first) ++calling;
        usleep(100);
        cupti_->leave();
      }
    });
  wait_for([&] { return calling == 4; });
  source_->finish();
  EXPECT_EQ(gpu_->disabled, 1);
  EXPECT_EQ(read().header.failed_step, SamplingStep::none);
  ends = true;
  for (std::thread& other : others) other.join();
}

TEST_F(Samples, KeepCuptisPeriodOnGpusThatNobodyTried) {
  auto* capability = static_cast<int*>(
      dlsym(dlopen(DIOGENES_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), "fake_compute_capability"));
  ASSERT_NE(capability, nullptr);
  *capability = 10;
  start();
  gpu_->create(context(1));
  *capability = 9;
  source_->finish();
  EXPECT_EQ(read().header.period_cycles, 2048u);
}

TEST_F(Samples, AreDrainedMeanwhileByAThreadThatTakesNoSignals) {
  start();
  gpu_->create(context(1));
  const uint64_t module = gpu_->load(code_);
  gpu_->sample(context(1), {module, 0x110, "_Z4axpyPf", {{kScoreboard, 5}}});
  wait_for([&] { return !read().sums.empty(); });
  EXPECT_EQ(read().sums, (Sums{{"1 _Z4axpyPf+272 long_scoreboard", 5}}));
  EXPECT_TRUE(gpu_->signals_blocked);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGUSR1)) << "the program's own thread gets its signals";
  gpu_->destroy(context(1));
  EXPECT_EQ(std::distance(fs::directory_iterator("/proc/self/task"), {}), 1)
      << "the thread lives while it samples";
  source_->finish();
}

TEST_F(Samples, OfALargeProgramComeInSeveralDrains) {
  start();
  gpu_->create(context(1));
  const uint64_t module = gpu_->load(code_);
  for (uint64_t i = 0; i < 20'000; ++i) gpu_->sample(context(1), {module, 16 * i, "f", {{kSelected, 1}}});
  gpu_->destroy(context(1));
  EXPECT_EQ(read().sums.size(), 20'000u);
  EXPECT_EQ(read().header.total, 20'000u);
}

TEST_F(Samples, CodeWithLinesIsKeptOnceAndTheRestSaysWhyNot) {
  start();
  gpu_->create(context(1));
  std::vector<uint8_t> without = cubin("linked_sm_80.cubin");
  for (size_t i = 0; i + 11 < without.size(); ++i)
    if (memcmp(&without[i], ".debug_line", 11) == 0) without[i + 1] = 'x';
  gpu_->load(code_);
  gpu_->load(without);
  gpu_->load(code_);
  gpu_->load({1, 2, 3});
  const Read found = read();
  ASSERT_EQ(found.modules.size(), 4u);
  EXPECT_EQ(found.modules[0].why_none, WhyNoCode::kept);
  EXPECT_EQ(found.modules[1].why_none, WhyNoCode::no_lines);
  EXPECT_EQ(found.modules[2].why_none, WhyNoCode::kept);
  EXPECT_EQ(found.modules[2].code, found.modules[0].code);
  EXPECT_EQ(found.modules[3].why_none, WhyNoCode::unreadable);
  ASSERT_EQ(kept_code().size(), 1u);
  const std::string kept = load(kept_code()[0]);
  EXPECT_LT(kept.size(), code_.size() + 1000);
  const Result<CubinFile> file =
      CubinFile::read({reinterpret_cast<const uint8_t*>(kept.data()), kept.size()});
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->has_lines());
  source_->finish();
}

TEST_F(Samples, OfCodeThatIsLoadedAgainAreToldApart) {
  start();
  gpu_->create(context(1));
  const uint64_t first = gpu_->load(code_), second = gpu_->load(code_);
  EXPECT_NE(first, second);
  gpu_->sample(context(1), {first, 16, "f", {{kSelected, 1}}});
  gpu_->sample(context(1), {second, 16, "f", {{kSelected, 2}}});
  source_->finish();
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 1}, {"2 f+16 selected", 2}}));
}

TEST_F(Samples, OfSeveralContextsAreTakenUntilEachOnesEnd) {
  start();
  const uint64_t module = gpu_->load(code_);
  gpu_->create(context(1));
  gpu_->create(context(2));
  gpu_->sample(context(1), {module, 16, "f", {{kSelected, 1}}});
  gpu_->sample(context(2), {module, 32, "f", {{kSelected, 2}}});
  gpu_->destroy(context(1));
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 1}}));
  gpu_->create(context(1));  // another one at the same place
  gpu_->sample(context(1), {module, 48, "f", {{kSelected, 4}}});
  source_->finish();
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 1}, {"1 f+32 selected", 2}, {"1 f+48 selected", 4}}));
  EXPECT_EQ(gpu_->enabled, 3);
  EXPECT_EQ(gpu_->disabled, 3);
}

TEST_F(Samples, OfManyContextsOneAfterTheOtherAreAllTaken) {
  start();
  for (uintptr_t i = 1; i <= 200; ++i) {
    gpu_->create(context(i));
    gpu_->destroy(context(i));
  }
  EXPECT_EQ(gpu_->enabled, 200);
  EXPECT_EQ(gpu_->disabled, 200);
}

TEST_F(Samples, OfTooManyContextsAtATimeSomeAreMissingAndItIsSaid) {
  start();
  for (uintptr_t i = 1; i <= 65; ++i) gpu_->create(context(i));
  EXPECT_EQ(gpu_->enabled, 64);
  EXPECT_EQ(read().header.failed_step, SamplingStep::enable);
  EXPECT_EQ(read().header.failed_result, cupti::kErrorMaxLimitReached);
  for (uintptr_t i = 1; i <= 65; ++i) gpu_->destroy(context(i));
  EXPECT_EQ(gpu_->disabled, 64);
  source_->finish();
}

TEST_F(Samples, ThatAreLostAreCounted) {
  start();
  gpu_->create(context(1));
  const uint64_t module = gpu_->load(code_);
  gpu_->dropped = 30;
  gpu_->foreign = 20;
  gpu_->sample(context(1), {module + 7, 16, "f", {{kSelected, 3}}});  // of a module that nobody saw
  gpu_->sample(context(1), {0, 16, "f", {{kSelected, 1}}, true});
  gpu_->destroy(context(1));
  gpu_->create(context(2));
  gpu_->buffer_full = true;
  gpu_->destroy(context(2));
  const SamplesHeader header = read().header;
  EXPECT_EQ(header.dropped, 30u);
  EXPECT_EQ(header.foreign, 24u);
  EXPECT_EQ(header.full_buffers, 1u);
  EXPECT_EQ(header.total, 54u);
  EXPECT_EQ(header.failed_step, SamplingStep::none);
}

TEST_F(Samples, ThatCannotBeTakenLeaveTheTimesAsTheyAre) {
  for (const int error : {26, 33, 35, 38, 39, 40, 41, 43, 45, 999}) {
    if (error != 26) {  // each a process's first
      TearDown();
      SetUp();
    }
    SCOPED_TRACE(error);
    gpu_->enable_result = error;
    start();
    gpu_->create(context(1));
    gpu_->enable_result = 27;  // the first failure counts
    gpu_->create(context(2));
    source_->begin(7);
    cupti_->kernel(cupti_->call(), 100, 200, 1, "axpy");
    source_->end();
    gpu_->destroy(context(1));
    source_->finish();
    GpuTime time;
    EXPECT_EQ(source_->take(&time, 1), 1u);
    EXPECT_EQ(read().header.failed_step, SamplingStep::enable);
    EXPECT_EQ(read().header.failed_result, error);
    EXPECT_EQ(gpu_->disabled, 0);
  }
}

TEST_F(Samples, WhatFailsAfterEnablingIsDisabled) {
  const auto try_with = [&](cupti::Result SamplingControls::*result, SamplingStep step) {
    TearDown();
    SetUp();
    gpu_->*result = 43;
    start();
    gpu_->create(context(1));
    EXPECT_EQ(gpu_->disabled, 1);
    source_->finish();
    EXPECT_EQ(read().header.failed_step, step);
    EXPECT_EQ(read().header.failed_result, 43);
  };
  try_with(&SamplingControls::reasons_result, SamplingStep::reasons);
  try_with(&SamplingControls::configure_result, SamplingStep::configure);
  try_with(&SamplingControls::attribute_status, SamplingStep::configure);
}

// As with a second process that samples the same GPU.
TEST_F(Samples, ThatCannotBeReadEndTheReadingAlone) {
  start();
  gpu_->create(context(1));
  gpu_->data_result = 999;
  wait_for([&] { return read().header.failed_step == SamplingStep::drain; });
  EXPECT_EQ(read().header.failed_result, 999);
  source_->finish();
  EXPECT_EQ(gpu_->disabled, 1);
}

TEST_F(Samples, NeedANewerLibrary) {
  gpu_->version = 21;
  start();
  gpu_->create(context(1));
  EXPECT_EQ(gpu_->enabled, 0);
  EXPECT_EQ(read().header.failed_step, SamplingStep::library);
  source_->finish();
}

TEST_F(Samples, NeedTheLibraryOfCounters) {
  if (dlopen("libnvperf_host.so", RTLD_NOW | RTLD_LOCAL)) GTEST_SKIP() << "this machine has it on its path";
  fs::remove(folder_ / "libnvperf_host.so");
  start();
  gpu_->create(context(1));
  EXPECT_EQ(gpu_->enabled, 0);
  EXPECT_EQ(read().header.failed_step, SamplingStep::counters_library);
  source_->finish();
}

TEST_F(Samples, AreNotTakenWhereNobodyAsks) {
  unsetenv(kGpuSamplesVariable);
  start();
  gpu_->create(context(1));
  EXPECT_EQ(gpu_->enabled, 0);
  EXPECT_FALSE(fs::exists(folder_ / kGpuSamplesFile));
  source_->finish();
}

TEST_F(Samples, NothingIsCalledOnceItIsFinished) {
  start();
  gpu_->create(context(1));
  source_->finish();
  const int drains = gpu_->drains;
  gpu_->create(context(2));
  gpu_->destroy(context(1));
  source_->finish();
  EXPECT_EQ(gpu_->enabled, 1);
  EXPECT_EQ(gpu_->disabled, 1);
  EXPECT_EQ(gpu_->drains, drains);
}

TEST_F(Samples, AreTheParentsInAChild) {
  start();
  gpu_->create(context(1));
  const uint64_t module = gpu_->load(code_);
  gpu_->sample(context(1), {module, 16, "f", {{kSelected, 1}}});
  const pid_t child = fork();
  if (child == 0) {
    const bool numbered = gpu_->load(code_) != 0;
    gpu_->destroy(context(1));
    gpu_->create(context(2));
    source_->finish();
    _exit(numbered + gpu_->enabled - 1 + gpu_->disabled + gpu_->drains);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(read().sums.empty());
  source_->finish();
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 1}}));
}

TEST_F(Samples, ThatWereDrainedOutliveAKill) {
  const pid_t child = fork();
  if (child == 0) {
    if (source_->start(folder_.c_str())) _exit(1);
    gpu_->create(context(1));
    gpu_->sample(context(1), {gpu_->load(code_), 16, "f", {{kSelected, 1}}});
    for (;;) pause();
  }
  wait_for([&] { return !read().sums.empty(); });
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 1}}));
}

// The context is left as it is: nothing of it may be touched while somebody is in it.
TEST_F(Samples, AProgramDoesNotWaitForADrainThatHangs) {
  start();
  gpu_->create(context(1));
  gpu_->stuck = true;
  wait_for([&] { return gpu_->hangs.load(); });
  gpu_->destroy(context(1));
  EXPECT_EQ(gpu_->disabled, 0);
  EXPECT_EQ(read().header.failed_result, cupti::kErrorNotReady);
  gpu_->create(context(2));
  EXPECT_EQ(gpu_->enabled, 2);
  gpu_->stuck = false;
  source_->finish();
  wait_for([] { return threads() == 1; });
  gpu_->misuse.clear();  // of who hung, in a context that is gone
}

TEST_F(Samples, ThreadsThatMakeAndEndContextsDoNotDisturbEachOther) {
  start();
  const uint64_t module = gpu_->load(code_);
  std::vector<std::thread> threads;
  for (uintptr_t t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      for (uintptr_t i = 0; i < 50; ++i) {
        gpu_->create(context(100 * t + i));
        gpu_->sample(context(100 * t + i), {module, 16 * t, "f", {{kSelected, 1}}, i % 2 == 0});
        gpu_->destroy(context(100 * t + i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  source_->finish();
  EXPECT_EQ(read().sums, (Sums{{"1 f+16 selected", 50},
                               {"1 f+32 selected", 50},
                               {"1 f+48 selected", 50},
                               {"1 f+64 selected", 50}}));
}

}  // namespace
}  // namespace diogenes
