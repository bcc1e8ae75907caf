// Which reading of Python's frames belongs to a sample of the CPU. Times in microseconds.
#include "analysis/samples/python_readings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "trace/python_samples.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

constexpr uint64_t kOwn = 0, kPythonModule = 1;  // modules
constexpr uint32_t kTid = 4711;

Frame python(uint32_t code) { return PythonFrame{code, 1, false}.packed(kPythonSampled); }

class PythonReadings : public ::testing::Test {
 protected:
  PythonReadings() {
    trace_.process.pid = kTid;
    trace_.modules.resize(2);
    for (ModuleRecord& module : trace_.modules) module.present = 1;
    strcpy(trace_.modules[kOwn].path, "/home/u/fast.so");
    strcpy(trace_.modules[kPythonModule].path, "/usr/bin/python3.12");
    process_.trace = &trace_;
    process_.threads.emplace_back();
    // Calls from 0 to 10 and from 3,000 to 3,010.
    for (const int64_t begin : {0, 3000}) {
      Operation& call = process_.threads[0].operations.emplace_back();
      call.begin = {begin * 1000};
      call.call = {10'000};
    }
  }

  static UnwoundSample at(int64_t us, std::vector<Frame> frames, int64_t weight_us = 0) {
    return {{us * 1000}, {weight_us * 1000}, kTid, std::move(frames)};
  }
  std::vector<Frame> joined(const UnwoundSample& sample, std::vector<UnwoundSample> readings) {
    std::vector<UnwoundSample> samples{sample};
    add_python(process_, std::move(readings), samples);
    return samples.at(0).frames;
  }

  ProcessTrace trace_;
  Process process_;
};

// A function of its own, called by the interpreter, which the machine's frames show in two places.
TEST_F(PythonReadings, StandInPlaceOfTheInterpreter) {
  const Frame own = Frame::of(kOwn, 0x40), interpreter = Frame::of(kPythonModule, 0x80);
  const auto frames =
      joined(at(500, {own, interpreter, own, interpreter}), {at(520, {python(1), python(2)})});
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].packed, own.packed);
  EXPECT_EQ(frames[1].packed, python(1).packed);
  EXPECT_EQ(frames[2].packed, python(2).packed);
}

TEST_F(PythonReadings, AreTheNearestOfTheSameStretch) {
  const Frame interpreter = Frame::of(kPythonModule, 0x80);
  const auto first_of = [&](int64_t sample, std::vector<UnwoundSample> readings) {
    return joined(at(sample, {interpreter}), std::move(readings)).at(0).packed;
  };
  EXPECT_EQ(first_of(2900, {at(2000, {python(1)}), at(2950, {python(2)}), at(3020, {python(3)})}),
            python(2).packed);
  EXPECT_EQ(first_of(3015, {at(2950, {python(2)}), at(3700, {python(3)})}), python(3).packed);
  EXPECT_EQ(first_of(2900, {at(3020, {python(3)})}), interpreter.packed) << "behind a call";
  EXPECT_EQ(first_of(3005, {at(3005, {python(3)})}), interpreter.packed) << "in a call";
  EXPECT_EQ(first_of(3100, {at(9900, {python(3)})}), interpreter.packed) << "too far away";
  EXPECT_EQ(first_of(500, {{{500'000}, {0}, kTid + 1, {python(1)}}}), interpreter.packed) << "another thread";
}

TEST_F(PythonReadings, AreAllThereIsWhereTheCpuWasNotSampled) {
  std::vector<UnwoundSample> samples;
  add_python(process_, {at(500, {python(1)}, 5000)}, samples);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].weight.count, 5'000'000);
  std::vector<UnwoundSample> lost;
  add_python(process_, {at(500, {python(1)})}, lost);
  EXPECT_TRUE(lost.empty()) << "it was read behind a sample that is gone";
  add_python(process_, {}, samples);
  EXPECT_EQ(samples.size(), 1u);
}

TEST_F(PythonReadings, AreReadAsFarAsTheFileGoes) {
  const testing::TemporaryFolder folder;
  trace_.folder = folder.path();
  EXPECT_TRUE(python_readings(trace_).empty()) << "no file";
  struct {
    PythonSampleRecord head;
    uint64_t frames[2];
  } later{{9'000, 7, kTid, 2}, {python(1).packed, python(2).packed}},
      earlier{{4'000, 5, kTid, 2}, {python(3).packed, python(4).packed}};
  std::string bytes(reinterpret_cast<const char*>(&later), sizeof later);
  bytes.append(reinterpret_cast<const char*>(&earlier), sizeof earlier);
  const auto read = [&](size_t length) {
    std::ofstream(folder.path() / kPythonSamplesFile, std::ios::binary | std::ios::trunc)
        << bytes.substr(0, length);
    return python_readings(trace_);
  };
  const auto whole = read(bytes.size());
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].at.count, 4'000) << "by time";
  EXPECT_EQ(whole[0].weight.count, 5);
  ASSERT_EQ(whole[1].frames.size(), 2u);
  EXPECT_EQ(whole[1].frames[1].packed, python(2).packed);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_EQ(read(length).size(), length / sizeof later);
  earlier.head.frames = 1 << 20;
  bytes.replace(sizeof later, sizeof earlier, reinterpret_cast<const char*>(&earlier), sizeof earlier);
  EXPECT_EQ(read(bytes.size()).size(), 1u) << "more frames than there are";
}

}  // namespace
}  // namespace diogenes
