// The built plug-in, with a library that plays CUPTI.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "driver/gpu_times_source.h"
#include "driver/kernel_launches.h"
#include "gpu_times/testdata/fake_cupti.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;
using fake_cupti::Controls;

// A copy of each library of its own, so that every test starts from nothing.
class PlugIn : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "gpu-times-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const fs::path plug_in = folder_ / "plug-in.so", cupti = folder_ / (folder_.filename().string() + ".so");
    fs::copy_file(DIOGENES_GPU_TIMES, plug_in);
    fs::copy_file(DIOGENES_FAKE_CUPTI, cupti);
    setenv("DIOGENES_CUPTI", cupti.c_str(), 1);
    void* fake = dlopen(cupti.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(fake, nullptr) << dlerror();
    cupti_ = static_cast<Controls*>(dlsym(fake, "fake_cupti"));
    ASSERT_NE(cupti_, nullptr);
    void* library = dlopen(plug_in.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    source_ = static_cast<const GpuTimesSource*>(dlsym(library, kGpuTimesSourceSymbol));
    ASSERT_NE(source_, nullptr);
    ASSERT_EQ(source_->bytes, sizeof(GpuTimesSource));
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<GpuTime> take_all() const {
    std::vector<GpuTime> times;
    GpuTime some[5];
    for (size_t count; (count = source_->take(some, 5)) > 0;) times.insert(times.end(), some, some + count);
    return times;
  }
  uint32_t call_for(uint64_t operation) const {
    source_->begin(operation);
    const uint32_t correlation = cupti_->call();
    source_->end();
    return correlation;
  }

  fs::path folder_;
  Controls* cupti_ = nullptr;
  const GpuTimesSource* source_ = nullptr;
};

TEST_F(PlugIn, WorkGetsTheOperationOfTheCallThatGaveIt) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  const uint32_t kernel = call_for(7), copy = call_for(8), down = call_for(9), fill = call_for(10);
  cupti_->copy(copy, 300, 400, cupti::kHostToDevice);  // ends before the kernel
  cupti_->kernel(kernel, 100, 500, 13, "axpy");
  cupti_->copy(down, 500, 510, cupti::kDeviceToHost);
  cupti_->fill(fill, 600, 601);
  EXPECT_TRUE(take_all().empty()) << "nothing was delivered yet";
  source_->finish();
  const std::vector<GpuTime> times = take_all();
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0].operation, 8u);
  EXPECT_EQ(times[0].work, GpuWork::to_device);
  EXPECT_EQ(times[1].operation, 7u);
  EXPECT_EQ(times[1].begin_ns, 100);
  EXPECT_EQ(times[1].end_ns, 500);
  EXPECT_EQ(times[1].stream, 13u);
  EXPECT_EQ(times[1].work, GpuWork::kernel);
  EXPECT_EQ(times[2].work, GpuWork::to_host);
  EXPECT_EQ(times[3].operation, 10u);
  EXPECT_EQ(times[3].work, GpuWork::fill);
}

TEST_F(PlugIn, WorkOfNobodysOperationAndWorkWithoutTimesIsLeftOut) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  const uint32_t between = cupti_->call(), unfinished = call_for(3);
  cupti_->kernel(between, 100, 200, 1, "axpy");
  cupti_->kernel(unfinished, 0, 0, 1, "axpy");
  source_->finish();
  EXPECT_TRUE(take_all().empty());
}

TEST_F(PlugIn, KernelsHaveTheirNamesAndShapesInAFile) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  const uint32_t first = call_for(7), second = call_for(8), third = call_for(9), copy = call_for(10);
  cupti_->kernel(first, 100, 200, 1, "axpy");
  cupti_->kernel(second, 200, 300, 1, "dot");
  cupti_->kernel(third, 300, 400, 1, "axpy");
  cupti_->copy(copy, 400, 500, cupti::kHostToDevice);
  source_->finish();
  std::map<uint64_t, uint32_t> launches;
  for (const GpuTime& time : take_all()) launches[time.operation] = time.launch;
  EXPECT_EQ(launches, (std::map<uint64_t, uint32_t>{{7, 1}, {8, 2}, {9, 1}, {10, 0}}));
  std::ifstream file(folder_ / kKernelsFile, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), 2 * sizeof(LaunchRecord) + 7);
  LaunchRecord record;
  memcpy(&record, bytes.data(), sizeof record);
  EXPECT_EQ(bytes.substr(sizeof record, record.name_bytes), "axpy");
  EXPECT_EQ(record.shape.grid[0], 7u);
  EXPECT_EQ(record.shape.block[0], 256u);
  EXPECT_EQ(record.shape.registers, 40u);
  EXPECT_EQ(record.shape.dynamic_shared, 1024u);
}

TEST_F(PlugIn, IsFlushedOnce) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  source_->finish();
  source_->finish();
  EXPECT_EQ(cupti_->flushes, 1);
}

TEST_F(PlugIn, OfTheParentIsNotFlushedByAChild) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    source_->finish();
    _exit(cupti_->flushes);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  source_->finish();
  EXPECT_EQ(cupti_->flushes, 1);
}

TEST_F(PlugIn, StepsAsideForAnotherSubscriber) {
  cupti_->subscribe_result = cupti::kErrorMultipleSubscribers;
  const char* refusal = source_->start(folder_.c_str());
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(std::string(refusal).find("another tool"), std::string::npos) << refusal;
  EXPECT_FALSE(cupti_->enabled[cupti::kConcurrentKernel]) << "the other tool's records are its own";
  source_->finish();
  EXPECT_EQ(cupti_->flushes, 0);
}

TEST_F(PlugIn, NamesTheToolThatIsInTheWay) {
  cupti_->subscribe_result = cupti::kErrorMultipleSubscribers;
  cupti_->holder = "Nsight Systems";
  EXPECT_STREQ(source_->start(folder_.c_str()),
               "Nsight Systems holds the profiling interface (CUPTI), which serves one tool at a time");
  EXPECT_FALSE(cupti_->subscribed);
}

TEST_F(PlugIn, GivesBackWhatItGotByAsking) {
  cupti_->subscribe_result = cupti::kErrorMultipleSubscribers;  // of the first question alone
  const char* refusal = source_->start(folder_.c_str());
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(std::string(refusal).find("another tool"), std::string::npos) << refusal;
  EXPECT_FALSE(cupti_->subscribed);
}

TEST_F(PlugIn, LeavesNothingBehindWhereKernelsCannotBeRecorded) {
  cupti_->kernels_result = 35;  // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
  ASSERT_NE(source_->start(folder_.c_str()), nullptr);
  EXPECT_FALSE(cupti_->subscribed);
  EXPECT_FALSE(cupti_->domain_enabled);
}

TEST_F(PlugIn, RecordingEndsAndBeginsAgain) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  EXPECT_FALSE(source_->record(false));
  EXPECT_FALSE(cupti_->domain_enabled);
  for (const cupti::Kind kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemset})
    EXPECT_FALSE(cupti_->enabled[kind]);
  // A graph that was made before may still tell of its kernels.
  cupti_->kernel(call_for(3), 100, 200, 1, "axpy");
  EXPECT_TRUE(source_->record(true));
  for (const cupti::Kind kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemset})
    EXPECT_TRUE(cupti_->enabled[kind]);
  cupti_->kernel(call_for(4), 200, 300, 1, "axpy");
  source_->finish();
  const std::vector<GpuTime> times = take_all();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].operation, 4u);
}

TEST_F(PlugIn, WhatHasEndedIsThereWhenItIsDelivered) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  cupti_->kernel(call_for(3), 100, 200, 1, "axpy");
  const int flushes = cupti_->flushes;
  source_->deliver();
  EXPECT_EQ(cupti_->flushes, flushes + 1);
  EXPECT_EQ(take_all().size(), 1u);
}

TEST_F(PlugIn, NothingIsSwitchedOnceItWasFlushed) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  EXPECT_FALSE(source_->record(false));
  source_->finish();
  std::fill(std::begin(cupti_->enabled), std::end(cupti_->enabled), false);
  EXPECT_FALSE(source_->record(true));
  EXPECT_FALSE(cupti_->domain_enabled);
  for (const bool enabled : cupti_->enabled) EXPECT_FALSE(enabled);
  const int flushes = cupti_->flushes;
  source_->deliver();
  EXPECT_EQ(cupti_->flushes, flushes);
}

TEST_F(PlugIn, WhatDoesNotBeginAgainCostsNothing) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  EXPECT_FALSE(source_->record(false));
  cupti_->kernels_result = 35;
  EXPECT_FALSE(source_->record(true));
  EXPECT_FALSE(cupti_->domain_enabled);
}

TEST_F(PlugIn, WithoutALibraryItSaysSo) {
  setenv("DIOGENES_CUPTI", "/nonexistent/libcupti.so.13", 1);
  const char* refusal = source_->start(folder_.c_str());
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(std::string(refusal).find("cannot be opened"), std::string::npos) << refusal;
  setenv("DIOGENES_CUPTI", DIOGENES_GPU_TIMES, 1);  // a library, but not that one
  ASSERT_NE(source_->start(folder_.c_str()), nullptr);
}

TEST_F(PlugIn, ThreadsKeepTheirOperationsApart) {
  ASSERT_EQ(source_->start(folder_.c_str()), nullptr);
  constexpr uint64_t kThreads = 4, kCalls = 5000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      GpuTime ignored[1];
      for (uint64_t i = 1; i <= kCalls; ++i) {
        const uint64_t operation = (t << 32) + i;
        const auto begin = static_cast<int64_t>(operation);
        cupti_->kernel(call_for(operation), begin, begin + 1, 0, "axpy");
        if (i % 1000 == 0 && source_->take(ignored, 0) != 0) ADD_FAILURE();
      }
    });
  for (auto& thread : threads) thread.join();
  source_->finish();
  std::map<uint64_t, int> seen;
  for (const GpuTime& time : take_all()) {
    EXPECT_EQ(time.begin_ns, static_cast<int64_t>(time.operation));
    ++seen[time.operation];
  }
  EXPECT_EQ(seen.size(), kThreads * kCalls);
  for (auto [operation, count] : seen) ASSERT_EQ(count, 1) << operation;
}

}  // namespace
}  // namespace diogenes
