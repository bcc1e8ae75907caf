// How long kernels ran while they were sampled, worked by hand. Times in microseconds.
#include "analysis/kernel_samples/sampled_time.h"

#include <gtest/gtest.h>

#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr PciPlace kGpu{0, 1, 0};

// axpy takes 10 us from 2 on and 30 from 12 on, dot 20 from 42 on. All multiprocessors are 100.
class SampledTimes : public ::testing::Test {
 protected:
  void SetUp() override {
    auto trace = timeline().launch(1).from(0x10).on_gpu(at(2), lasting(10), "axpy");
    trace.launch(1).from(0x10).on_gpu(at(12), lasting(30), "axpy");
    trace.launch(1).from(0x20).on_gpu(at(42), lasting(20), "dot");
    trace.copy("cuMemcpyDtoHAsync_v2", 4096, lasting(0), 1).on_gpu(at(62), lasting(5), GpuWork::to_host);
    write_process(folder_.path() / "gpu", trace.sync(lasting(60)),
                  {.stage = Stage::gpu_times, .launches_traced = true});
    auto loaded = load_run(folder_.path() / "gpu", sites_, Load::gpu_times);
    loaded_.emplace(std::move(*loaded));
    samples_.samples.devices = {{kGpu, 100}};
    samples_.samples.period_cycles = 2048;
    samples_.samples.total = 1000;
  }
  std::map<std::string, SampledTime> found() const {
    return find_sampled_time(*loaded_, std::span(&samples_, 1), clocks_);
  }
  int64_t end_of_the_second() const { return loaded_->processes[0].threads[0].gpu_pieces[1].end.count; }

  TemporaryFolder folder_;
  SiteTable sites_;
  std::optional<diogenes::Run> loaded_;
  ProcessGpuSamples samples_;
  GpuClocks clocks_;
};

TEST_F(SampledTimes, CyclesOfAllMultiprocessors) {
  clocks_.add({0, kGpu, 1500});
  const auto times = found();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times.at("axpy").launches, 2u);
  EXPECT_DOUBLE_EQ(times.at("axpy").cycles, 40'000 * 1.5 * 100);
  EXPECT_DOUBLE_EQ(times.at("dot").cycles, 20'000 * 1.5 * 100);
  EXPECT_EQ(times.at("dot").cycles_a_sample, 2048);
}

TEST_F(SampledTimes, TheClockIsThatOfTheTime) {
  const int64_t between = end_of_the_second();
  clocks_.add({between - 1, kGpu, 1500});
  clocks_.add({between + 1, kGpu, 1000});
  EXPECT_DOUBLE_EQ(found().at("axpy").cycles, 40'000 * 1.5 * 100);
  EXPECT_DOUBLE_EQ(found().at("dot").cycles, 20'000 * 1.0 * 100);
}

TEST_F(SampledTimes, WhatEndedLaterThanSamplingIsInNone) {
  clocks_.add({0, kGpu, 1500});
  samples_.samples.ended_ns = end_of_the_second();
  EXPECT_EQ(found().size(), 1u);
  samples_.samples.ended_ns = end_of_the_second() - 1;
  EXPECT_DOUBLE_EQ(found().at("axpy").cycles, 10'000 * 1.5 * 100);
}

TEST_F(SampledTimes, OfTwoGpusItIsTheMean) {
  samples_.samples.devices.push_back({{0, 2, 0}, 50});
  clocks_.add({0, kGpu, 1500});
  EXPECT_EQ(found().at("axpy").cycles, 0) << "the clock of one is not known";
  clocks_.add({0, {0, 2, 0}, 1000});
  EXPECT_DOUBLE_EQ(found().at("axpy").cycles, 40'000 * (1.5 * 100 + 1.0 * 50) / 2);
}

TEST_F(SampledTimes, WithoutClockOrWithLostSamplesItIsNotKnown) {
  EXPECT_EQ(found().at("axpy").cycles, 0);
  EXPECT_EQ(found().at("axpy").launches, 2u);
  samples_.samples.dropped = 10;
  EXPECT_EQ(found().at("axpy").cycles_a_sample, 2048) << "1% of them";
  samples_.samples.dropped = 11;
  EXPECT_EQ(found().at("axpy").cycles_a_sample, 0);
  samples_.samples.dropped = 0;
  samples_.samples.foreign = 11;
  EXPECT_EQ(found().at("axpy").cycles_a_sample, 0);
  samples_.samples.foreign = 0;
  samples_.samples.full_buffers = 1;
  EXPECT_EQ(found().at("axpy").cycles_a_sample, 0);
}

}  // namespace
}  // namespace diogenes
