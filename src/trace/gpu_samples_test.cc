#include "trace/gpu_samples.h"

#include <gtest/gtest.h>

#include <random>

#include "driver/gpu_samples_file.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using diogenes::testing::load;
using diogenes::testing::save;
using diogenes::testing::TemporaryFolder;

constexpr const char* kFront = "smsp__pcsamp_warps_issue_stalled_";

SampledSum sum_of(uint32_t module, uint32_t function, uint32_t reason, uint64_t offset, uint64_t samples) {
  return {SampledType::sum, module, function, reason, offset, samples};
}

class GpuSamplesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(file_.open(folder_.path().c_str())); }
  GpuSamples read() {
    missing_.clear();
    return read_gpu_samples(folder_.path(), missing_);
  }
  uint32_t reason(const std::string& name) { return file_.reason((kFront + name).c_str()); }

  TemporaryFolder folder_;
  SamplesFile file_;
  std::vector<std::string> missing_;
};

TEST_F(GpuSamplesTest, SumsComeBackInOrderWithTheirNames) {
  const uint32_t barrier = reason("barrier"), wait = reason("wait"), late = reason("wait_not_issued");
  const uint32_t axpy = file_.function("_Z4axpyPf"), dot = file_.function("_Z3dotPf");
  const uint32_t one = file_.module(WhyNoCode::no_lines, 0), other = file_.module(WhyNoCode::no_room, 0);
  EXPECT_EQ(file_.function("_Z4axpyPf"), axpy);
  file_.count(sum_of(other, dot, wait, 0x20, 7));
  file_.count(sum_of(one, axpy, wait, 0x110, 5));
  file_.count(sum_of(one, axpy, late, 0x110, 3));
  file_.count(sum_of(one, axpy, barrier, 0x110, 2));
  file_.count(sum_of(one, axpy, wait, 0x110, 10));
  file_.count(sum_of(one, axpy, wait, 0x100, 1));
  file_.header().period_cycles = 2048;
  file_.header().dropped = 11;
  file_.header().foreign = 12;
  file_.header().full_buffers = 13;
  file_.header().total = 51;
  file_.header().ended_ns = 77;
  file_.device({SampledType::device, 132, 3, 0x1b, 2, {}});
  file_.device({SampledType::device, 132, 3, 0x43, 2, {}});
  file_.device({SampledType::device, 132, 3, 0x1b, 2, {}});
  const GpuSamples samples = read();
  EXPECT_TRUE(missing_.empty());
  EXPECT_EQ(samples.reasons, (std::vector<std::string>{"barrier", "wait"}));
  EXPECT_EQ(samples.functions, (std::vector<std::string>{"_Z4axpyPf", "_Z3dotPf"}));
  ASSERT_EQ(samples.modules.size(), 2u);
  EXPECT_EQ(samples.modules[0].code, "");
  EXPECT_NE(samples.modules[0].why_none.find("-lineinfo"), std::string::npos);
  ASSERT_EQ(samples.instructions.size(), 3u);
  const GpuSamples::Instruction& second = samples.instructions[1];
  EXPECT_EQ(samples.instructions[0].offset, 0x100u);
  EXPECT_EQ(second.offset, 0x110u);
  ASSERT_EQ(second.reasons.size(), 2u);
  EXPECT_EQ(second.reasons[0].reason, 0u);
  EXPECT_EQ(second.reasons[0].samples, 2u);
  EXPECT_EQ(second.reasons[1].samples, 15u);
  EXPECT_EQ(second.reasons[1].latency_samples, 3u);
  EXPECT_EQ(samples.instructions[2].module, 1u);
  EXPECT_EQ(samples.instructions[2].function, 1u);
  EXPECT_EQ(samples.period_cycles, 2048u);
  EXPECT_EQ(samples.dropped, 11u);
  EXPECT_EQ(samples.foreign, 12u);
  EXPECT_EQ(samples.full_buffers, 13u);
  EXPECT_EQ(samples.total, 51u);
  EXPECT_EQ(samples.ended_ns, 77);
  ASSERT_EQ(samples.devices.size(), 2u);
  EXPECT_EQ(samples.devices[0].place, (PciPlace{3, 0x1b, 2}));
  EXPECT_EQ(samples.devices[1].place, (PciPlace{3, 0x43, 2}));
  EXPECT_EQ(samples.devices[0].multiprocessors, 132u);
  EXPECT_EQ(samples.why_none, "");
}

TEST_F(GpuSamplesTest, KeptCodeIsNamedIfItIsThere) {
  file_.module(WhyNoCode::kept, 0x12ab);
  EXPECT_EQ(read().modules[0].code, "");
  EXPECT_NE(read().modules[0].why_none, "");
  save(folder_.path() / "cubin-00000000000012ab", "code");
  EXPECT_EQ(read().modules[0].code, (folder_.path() / "cubin-00000000000012ab").string());
  EXPECT_EQ(read().modules[0].why_none, "");
}

TEST_F(GpuSamplesTest, WhatFailedIsASentenceWithWhatToDo) {
  const auto sentence = [&](SamplingStep step, int result) {
    file_.header().failed_step = step;
    file_.header().failed_result = result;
    return read().why_none;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(sentence(SamplingStep::enable, 35), "NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(has(sentence(SamplingStep::enable, 40), "root"));
  EXPECT_TRUE(has(sentence(SamplingStep::enable, 26), "another profiler"));
  EXPECT_TRUE(has(sentence(SamplingStep::configure, 43), "MIG"));
  EXPECT_TRUE(has(sentence(SamplingStep::enable, 45), "WSL"));
  EXPECT_TRUE(has(sentence(SamplingStep::drain, 999), "another process samples this GPU"));
  EXPECT_TRUE(has(sentence(SamplingStep::enable, 999), "999"));
  EXPECT_TRUE(has(sentence(SamplingStep::counters_library, 0), "libnvperf_host.so"));
  EXPECT_TRUE(has(sentence(SamplingStep::library, 0), "12.4"));
}

TEST_F(GpuSamplesTest, NothingIsThereWithoutAFile) {
  std::vector<std::string> missing;
  const GpuSamples samples = read_gpu_samples(folder_.path() / "none", missing);
  EXPECT_TRUE(missing.empty());
  EXPECT_TRUE(samples.instructions.empty());
  EXPECT_EQ(samples.why_none, "");
}

TEST_F(GpuSamplesTest, AFullFileSaysHowManySamplesWereLeftOut) {
  const uint32_t wait = reason("wait"), function = file_.function("f"),
                 module = file_.module(WhyNoCode::no_lines, 0);
  const size_t before = 3 + 2 + 1,  // records of names, with their texts, and of the module

      places = (SamplesFile::kMostBytes - sizeof(SamplesHeader)) / sizeof(SampledSum);
  for (size_t i = 0; i < places; ++i) file_.count(sum_of(module, function, wait, i, 2));
  EXPECT_EQ(file_.module(WhyNoCode::no_lines, 0), 0u);
  file_.count(sum_of(module, function, wait, 0, 2));  // is there already
  const GpuSamples samples = read();
  EXPECT_EQ(samples.left_out, 2 * before);
  EXPECT_EQ(samples.instructions.size(), places - before);
  EXPECT_EQ(samples.instructions[0].reasons[0].samples, 4u);
  EXPECT_TRUE(missing_.empty());
}

TEST_F(GpuSamplesTest, ACutFileIsTakenAsFarAsItGoes) {
  const uint32_t wait = reason("wait"), function = file_.function("f"),
                 module = file_.module(WhyNoCode::no_lines, 0);
  for (uint64_t i = 0; i < 100; ++i) file_.count(sum_of(module, function, wait, i, 1));
  std::string bytes = load(folder_.path() / kGpuSamplesFile);
  bytes.resize(sizeof(SamplesHeader) + 6 * 32 + 10 * 32 + 7);
  save(folder_.path() / kGpuSamplesFile, bytes);
  EXPECT_EQ(read().instructions.size(), 10u);
  ASSERT_EQ(missing_.size(), 1u);
  EXPECT_NE(missing_[0].find("7 bytes"), std::string::npos) << missing_[0];
}

TEST_F(GpuSamplesTest, DamageIsNotBelieved) {
  const uint32_t wait = reason("wait"), late = reason("wait_not_issued"),
                 function = file_.function("_Z4axpyPf");
  const uint32_t module = file_.module(WhyNoCode::kept, 1);
  for (uint64_t i = 0; i < 20; ++i)
    file_.count(sum_of(module, function, i % 2 ? wait : late, 16 * i, ~uint64_t{0} / 3));
  std::string original = load(folder_.path() / kGpuSamplesFile);
  original.resize(sizeof(SamplesHeader) + 32 * 32);
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = original;
    if (random() % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    for (size_t flips = random() % 8; flips > 0 && !bytes.empty(); --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    save(folder_.path() / kGpuSamplesFile, bytes);
    const GpuSamples samples = read();
    uint64_t sum = 0;
    for (const auto& instruction : samples.instructions) {
      ASSERT_LT(instruction.module, samples.modules.size());
      ASSERT_LT(instruction.function, samples.functions.size());
      for (const auto& one : instruction.reasons) {
        ASSERT_LT(one.reason, samples.reasons.size());
        ASSERT_LE(one.latency_samples, one.samples);
        ASSERT_LE(sum, sum + one.samples);
        sum += one.samples;
      }
    }
  }
}

}  // namespace
}  // namespace diogenes
