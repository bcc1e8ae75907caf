// What the report shows of kernels, worked by hand, and input that is not as it should be.
#include "analysis/kernel_samples/kernel_samples.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "analysis/kernel_samples/testing/samples_of.h"
#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using namespace testing;
using Kind = ReportKernelNode::Kind;
namespace fs = std::filesystem;

enum Reason : uint32_t { selected, not_selected, long_scoreboard, wait };
const std::string kScaled = "_Z6scaledILi2EEvPfi";

KernelSamplesFound found_in(SamplesOf& samples, const std::string& kernel = kScaled, uint32_t threads = 256) {
  const std::vector<KernelAsked> asked{{kernel, threads}};
  return find_kernel_samples(std::span(&samples.made(), 1), asked);
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("kernel_samples_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  fs::path path_;
};

// 100 samples: 62 in the loop, of these 44 for memory. Of all 20 issued, 5 could have; 60 are latency samples.
TEST(KernelSamples, SharesReasonsAndRates) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, long_scoreboard, 44, 44)
      .line(kScaled, 5, selected, 13)
      .line(kScaled, 19, not_selected, 5);
  samples.line(kScaled, 20, wait, 31, 16).line(kScaled, 20, selected, 7);
  const KernelSamplesFound found = found_in(samples);
  ASSERT_EQ(found.kernels.size(), 1u);
  const ReportKernelSamples& kernel = found.kernels.at(kScaled);
  EXPECT_EQ(kernel.samples(), 100);
  ASSERT_EQ(kernel.hottest.size(), 2u);
  const ReportKernelNode &loop = kernel.nodes[kernel.hottest[0]], &line = kernel.nodes[kernel.hottest[1]];
  EXPECT_EQ(loop.kind, Kind::loop);
  EXPECT_EQ(loop.line, 18);
  EXPECT_EQ(loop.last_line, 19);
  EXPECT_EQ(kernel.share(loop.all.samples), 0.62);
  EXPECT_EQ(kernel.reasons[loop.all.stalls[0].reason], "long_scoreboard");
  EXPECT_EQ(loop.all.stalls[0].samples, 44);
  EXPECT_EQ(loop.all.latency, 44);
  EXPECT_EQ(line.kind, Kind::line);
  EXPECT_EQ(line.line, 20);
  EXPECT_EQ(kernel.share(line.all.samples), 0.38);
  EXPECT_DOUBLE_EQ(kernel.issue_rate, 0.4);             // (100 - 60) / 100
  EXPECT_DOUBLE_EQ(kernel.eligible_rate, 0.25);         // (20 + 5) / 100
  EXPECT_DOUBLE_EQ(*kernel.instructions_a_cycle, 1.6);  // of 4 schedulers
  EXPECT_DOUBLE_EQ(*kernel.busy_rate, 1 - std::pow(0.75, 4));
  EXPECT_TRUE(kernel.why_no_lines.empty());
  EXPECT_TRUE(kernel.notes.empty());
  EXPECT_FALSE(kernel.active_rate);
  EXPECT_FALSE(kernel.instructions_a_launch);
}

// 200 samples of 2,048 cycles: 409,600 in which a multiprocessor had a warp of it, of 1,638,400 while its 4 launches ran. A
// scheduler issued in half of them, and there are four: 819,200 instructions.
TEST(KernelSamples, CyclesTellHowManyMultiprocessorsWorkAndHowManyInstructions) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, selected, 100).line(kScaled, 20, wait, 100, 100);
  const auto rates_of = [&](const SampledTime& time, uint32_t threads) {
    const std::vector<KernelAsked> asked{{kScaled, threads, time}};
    return find_kernel_samples(std::span(&samples.made(), 1), asked).kernels.at(kScaled);
  };
  const ReportKernelSamples kernel = rates_of({4, 1'638'400, 2'048}, 256);
  EXPECT_DOUBLE_EQ(*kernel.active_rate, 0.25);
  EXPECT_DOUBLE_EQ(*kernel.instructions_a_launch, 204'800);
  EXPECT_DOUBLE_EQ(*rates_of({4, 400'000, 2'048}, 256).active_rate, 1);
  EXPECT_FALSE(rates_of({4, 0, 2'048}, 256).active_rate);
  EXPECT_TRUE(rates_of({4, 0, 2'048}, 256).instructions_a_launch);
  EXPECT_FALSE(rates_of({4, 1'638'400, 2'048}, 32).instructions_a_launch);
  EXPECT_FALSE(rates_of({4, 1'638'400, 0}, 256).instructions_a_launch);
}

TEST(KernelSamples, OfTheFirstPartItIsSaid) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, wait, 200);
  samples.made().samples.ended_ns = 5;
  const KernelSamplesFound found = found_in(samples);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_EQ(found.notes[0].substr(0, 46), "the GPU was sampled in the run's first part on");
}

TEST(KernelSamples, WithFewThreadsItIsNotKnownHowManySchedulersWork) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, wait, 200);
  const KernelSamplesFound found = found_in(samples, kScaled, 32);
  EXPECT_FALSE(found.kernels.at(kScaled).busy_rate);
  EXPECT_FALSE(found.kernels.at(kScaled).instructions_a_cycle);
}

// Three loops, one in the other: 95, 40 and 40 samples, for what line 61 has lies in the outermost. The second merely lies around
// the innermost.
TEST(KernelSamples, OfLoopsAroundEachOtherThoseThatTellSomething) {
  SamplesOf samples("subject_sm_90");
  samples.line("_Z6nestedPfi", 64, wait, 40).line("_Z6nestedPfi", 61, wait, 55);
  const KernelSamplesFound found = found_in(samples, "_Z6nestedPfi");
  const ReportKernelSamples& kernel = found.kernels.at("_Z6nestedPfi");
  std::vector<int> lines;
  for (const uint32_t at : kernel.hottest) lines.push_back(kernel.nodes[at].line);
  EXPECT_EQ(lines, (std::vector<int>{59, 63}));
}

TEST(KernelSamples, NothingIsDoneWithoutSamples) {
  SamplesOf samples("subject_sm_90");
  KernelSamplesFound found = found_in(samples);
  EXPECT_TRUE(found.kernels.empty());
  EXPECT_TRUE(found.no_samples.empty());
  EXPECT_TRUE(found.notes.empty());
  samples.made().samples.why_none = "the driver does not allow it";
  EXPECT_EQ(found_in(samples).no_samples, "the driver does not allow it");
  EXPECT_TRUE(find_kernel_samples({}, {}).kernels.empty());
  samples.at(kScaled, 0, wait, 0);
  EXPECT_TRUE(found_in(samples).kernels.empty());
}

TEST(KernelSamples, WithoutCodeThereAreReasonsAndASentence) {
  SamplesOf samples("subject_sm_90");
  samples.made().samples.modules = {{"", ""}, {"", "this library's code is not kept"}, {"no such file", ""}};
  samples.at(kScaled, 0, wait, 100)
      .at("$_Z6directPfi$_Z4leaffi", 0, wait, 100, 0, 1)
      .at("_Z6nestedPfi", 0, wait, 100, 0, 2);
  const std::vector<KernelAsked> asked{{kScaled, 0}, {"_Z6directPfi", 0}, {"_Z6nestedPfi", 0}};
  const KernelSamplesFound found = find_kernel_samples(std::span(&samples.made(), 1), asked);
  ASSERT_EQ(found.kernels.size(), 3u);
  EXPECT_NE(found.kernels.at(kScaled).why_no_lines.find("-lineinfo"), std::string::npos);
  EXPECT_EQ(found.kernels.at("_Z6directPfi").why_no_lines, "this library's code is not kept");
  EXPECT_NE(found.kernels.at("_Z6nestedPfi").why_no_lines.find("cannot be read"), std::string::npos);
  for (const auto& [name, kernel] : found.kernels) {
    EXPECT_EQ(kernel.nodes.size(), 1u);
    EXPECT_EQ(kernel.nodes[0].all.stalls.size(), 1u);
    EXPECT_TRUE(kernel.hottest.empty());
  }
}

TEST(KernelSamples, WhatWasLostIsSaid) {
  SamplesOf samples("linked_sm_90");
  samples.all_of("_Z8far_awayfi", wait, 1).line("_Z6linkedPfi", 13, wait, 200);
  samples.made().samples.dropped = 3;
  samples.made().samples.foreign = 5;
  const KernelSamplesFound found = found_in(samples, "_Z6linkedPfi");
  ASSERT_EQ(found.notes.size(), 3u);
  EXPECT_NE(found.notes[0].find("3 samples were dropped"), std::string::npos);
  EXPECT_EQ(found.notes[1].substr(0, 9), "5 samples");
  EXPECT_NE(found.notes[2].find("-rdc=true"), std::string::npos);
  EXPECT_EQ(found.kernels.at("_Z6linkedPfi").samples(), 200);
}

// 200 modules and 3 processes with the same code, also in files of other names.
TEST(KernelSamples, TheSameCodeInManyModulesIsOne) {
  const Folder folder;
  folder.write("again.cubin", committed_cubin_bytes("subject_sm_90"));
  std::vector<ProcessGpuSamples> processes;
  for (int p = 0; p < 3; ++p) {
    SamplesOf samples("subject_sm_90");
    const uint64_t offset = samples.at_line(kScaled, 5).front();
    samples.made().samples.modules.resize(200, {p == 2 ? "again.cubin" : "subject_sm_90.cubin", ""});
    if (p == 2) samples.made().folder = folder.path(), samples.made().samples.modules[0].code = "again.cubin";
    for (uint32_t module = 0; module < 200; ++module) samples.at(kScaled, offset, wait, 1, 0, module);
    processes.push_back(samples.made());
  }
  const std::vector<KernelAsked> asked{{kScaled, 0}};
  const KernelSamplesFound found = find_kernel_samples(processes, asked);
  const ReportKernelSamples& kernel = found.kernels.at(kScaled);
  EXPECT_EQ(kernel.samples(), 600);
  EXPECT_EQ(kernel.nodes.size(), 6u);  // the kernel, its loop, first, second, third, the line
  EXPECT_EQ(kernel.nodes.back().own.samples, 600);
}

TEST(KernelSamples, ReasonsOfProcessesThatNumberThemOtherwiseAreTheSame) {
  SamplesOf one("subject_sm_90"), other("subject_sm_90");
  other.made().samples.reasons = {"wait", "new_reason"};
  one.line(kScaled, 5, wait, 60);
  other.line(kScaled, 5, 0, 50).line(kScaled, 5, 1, 10).line(kScaled, 5, 99, 7);
  const std::vector<ProcessGpuSamples> processes{one.made(), other.made()};
  const std::vector<KernelAsked> asked{{kScaled, 0}};
  const ReportKernelSamples kernel = find_kernel_samples(processes, asked).kernels.at(kScaled);
  ASSERT_EQ(kernel.nodes[0].all.stalls.size(), 2u);
  EXPECT_EQ(kernel.reasons[kernel.nodes[0].all.stalls[0].reason], "wait");
  EXPECT_EQ(kernel.nodes[0].all.stalls[0].samples, 110);
  EXPECT_EQ(kernel.reasons[kernel.nodes[0].all.stalls[1].reason], "new_reason");
}

TEST(KernelSamples, NumbersThatAreNotThereAreLeftOut) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, wait, 100);
  samples.made().samples.instructions.push_back({77, 0, 0, {{0, 5, 0}}});
  samples.made().samples.instructions.push_back({0, 77, 0, {{0, 5, 0}}});
  samples.made().samples.instructions.push_back({0, 0, UINT64_MAX, {{0, 5, 9}}});
  const KernelSamplesFound found = found_in(samples);
  EXPECT_EQ(found.kernels.at(kScaled).samples(), 105);
  EXPECT_EQ(found.kernels.at(kScaled).nodes[0].own.samples, 5);  // beyond its code
  EXPECT_EQ(found.kernels.at(kScaled).notes.size(), 1u);
}

// Whatever the file says, nothing is lost, and parents come first.
TEST(KernelSamples, DamagedCode) {
  const Folder folder;
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    SamplesOf samples(round % 2 ? "subject_sm_90" : "subject_sm_80");
    Bytes bytes = committed_cubin_bytes(round % 2 ? "subject_sm_90" : "subject_sm_80");
    for (int i = 0; i < 1 << round % 10; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (round % 7 == 0) bytes.resize(random() % bytes.size());
    folder.write("damaged.cubin", bytes);
    samples.made().folder = folder.path();
    samples.made().samples.modules[0].code = "damaged.cubin";
    for (const char* name : {"_Z6directPfi", "_Z6middlefi", "_Z4leaffi", "_Z5depthi", "_Z6nestedPfi"})
      samples.all_of(name, random() % 4, 10);
    const std::vector<KernelAsked> asked{
        {"_Z6directPfi", 128}, {"_Z9recursivePi", 128}, {"_Z6nestedPfi", 128}};
    const KernelSamplesFound found = find_kernel_samples(std::span(&samples.made(), 1), asked);
    for (const auto& [name, kernel] : found.kernels) {
      double own = 0;
      for (size_t i = 0; i < kernel.nodes.size(); ++i) {
        own += kernel.nodes[i].own.samples;
        ASSERT_LT(kernel.nodes[i].parent, std::max<size_t>(i, 1));
      }
      EXPECT_NEAR(own, kernel.samples(), 1e-6 * own);
    }
  }
}

TEST(KernelSamples, SourceHasThemAtTheMargin) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, long_scoreboard, 30).line(kScaled, 19, wait, 70);
  const KernelSamplesFound found = found_in(samples);
  const ReportKernelSamples& kernel = found.kernels.at(kScaled);
  const std::string file = kernel.nodes[kernel.hottest[0]].file;
  const ReportSampledSource source = with_samples(kernel, file, 18, {"for", "data", "}"});
  ASSERT_EQ(source.lines.size(), 3u);
  EXPECT_EQ(source.lines[1].samples, 70);
  EXPECT_EQ(kernel.reasons[static_cast<size_t>(source.lines[1].reason)], "wait");
  EXPECT_EQ(source.lines[2].reason, -1);
  EXPECT_EQ(with_samples(kernel, "other.cu", 18, {"x"}).lines[0].samples, 0);
}

// Five kernels of 20,000 instructions, each in a loop and on a line of its own.
Bytes large_cubin() {
  constexpr uint32_t kKernels = 5, kInstructions = 20'000;
  CubinBuilder builder(90);
  Bytes program;
  std::vector<CubinBuilder::Relocation> relocations;
  for (uint32_t i = 0; i < kKernels; ++i) {
    std::vector<Instruction> code(kInstructions, Instruction{kNop});
    code[kInstructions - 2] = {
        .operation = kBranch, .distance = -int64_t{kInstructions - 1} * 16, .predicate = 0};
    code[kInstructions - 1] = {kExit};
    const std::string name = "kernel" + std::to_string(i);
    const uint32_t section = builder.code(name, code_of(90, code));
    const uint32_t symbol = builder.kernel(name, section, kInstructions * 16);
    const auto put = [&](const Bytes& more) { program.insert(program.end(), more.begin(), more.end()); };
    put({0, 9, 2});
    relocations.push_back({program.size(), 2, symbol});
    put(Bytes(8));
    for (uint32_t k = 0; k < kInstructions; ++k)
      put({3, 1, 1, 2, 16});  // the next line, a row, the next instruction
    put({0, 1, 1});
  }
  Bytes header{1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 'k', '.', 'c', 'u', 0, 0, 0, 0, 0};
  Bytes table;
  CubinBuilder::append(table, static_cast<uint32_t>(6 + header.size() + program.size()));
  CubinBuilder::append(table, uint16_t{2});
  CubinBuilder::append(table, static_cast<uint32_t>(header.size()));
  table.insert(table.end(), header.begin(), header.end());
  for (CubinBuilder::Relocation& one : relocations) one.offset += table.size();
  table.insert(table.end(), program.begin(), program.end());
  builder.relocations(".debug_line", builder.section(".debug_line", SHT_PROGBITS, table), relocations);
  return builder.build();
}

TEST(KernelSamples, AHundredThousandInstructions) {
  const Folder folder;
  folder.write("large.cubin", large_cubin());
  ProcessGpuSamples process;
  process.folder = folder.path();
  process.samples.reasons = {"selected", "long_scoreboard"};
  process.samples.modules = {{"large.cubin", ""}};
  std::vector<KernelAsked> asked;
  for (uint32_t i = 0; i < 5; ++i) {
    process.samples.functions.push_back("kernel" + std::to_string(i));
    asked.push_back({process.samples.functions.back(), 256});
    for (uint64_t k = 0; k < 20'000; ++k)
      process.samples.instructions.push_back({0, i, k * 16, {{0, 1, 0}, {1, k, k}}});
  }
  const KernelSamplesFound found = find_kernel_samples(std::span(&process, 1), asked);
  ASSERT_EQ(found.kernels.size(), 5u);
  for (const auto& [name, kernel] : found.kernels) {
    EXPECT_EQ(kernel.samples(), 20'000 + 20'000 * 19'999 / 2);
    ASSERT_EQ(kernel.hottest.size(), 1u);
    const ReportKernelNode& loop = kernel.nodes[kernel.hottest[0]];
    EXPECT_EQ(loop.line, 2);
    EXPECT_EQ(loop.last_line, 20'000);
    EXPECT_LE(kernel.nodes.size(), 200u);
    EXPECT_EQ(kernel.notes.size(), 1u);  // of its places the largest are shown
  }
}

}  // namespace
}  // namespace diogenes
