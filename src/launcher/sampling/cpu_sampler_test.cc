// Samples of a program that uses the CPU for as long as its own clock says: where the kernel allows them.
#include "launcher/sampling/cpu_sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/cpu_samples.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::launcher {
namespace {

// 0.3 s of CPU time, whatever else the machine does.
constexpr const char* kBusy = "import time\nwhile time.process_time() < 0.3: pass";

TEST(CpuSampler, SamplesWhatIsStartedAndNothingElse) {
  testing::TemporaryFolder folder;
  CpuSampler sampler(folder.path() / kCpuSamplesFile);
  if (!sampler.start()) GTEST_SKIP() << sampler.problem();
  const pid_t child = fork();
  if (child == 0) {
    execlp("python3", "python3", "-c", kBusy, nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  sampler.stop();
  EXPECT_EQ(sampler.lost(), 0u);
  Result<CpuSamples> samples = CpuSamples::open(folder.path() / kCpuSamplesFile);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->all().size(), sampler.taken());
  // 60 would be all of it; much of its time is the kernel's, in which no sample is taken.
  EXPECT_GT(samples->all().size(), 5u);
  for (const CpuSample& sample : samples->all()) {
    // python3 may be a script, which starts others before it becomes python.
    EXPECT_NE(sample.record->pid, static_cast<uint32_t>(getpid()));
    EXPECT_GT(sample.stack.size(), 0u);
    EXPECT_NE(sample.record->registers[16], 0u);
  }
}

TEST(CpuSampler, WithoutAFileItSaysSo) {
  CpuSampler sampler("/nonexistent/cpu-samples");
  EXPECT_FALSE(sampler.start());
  EXPECT_NE(sampler.problem(), "");
}

}  // namespace
}  // namespace diogenes::launcher
