// Stacks that were copied while a program ran, walked afterwards; and nonsense in their place.
#include "analysis/samples/unwind.h"

#include <gtest/gtest.h>
#include <link.h>
#include <ucontext.h>

#include <cstring>
#include <fstream>
#include <random>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

// This process, with what it has loaded.
ProcessTrace own_process() {
  ProcessTrace process;
  process.process.pid = 4711;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        ModuleRecord module{};
        uint64_t begin = UINT64_MAX, end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          begin = std::min<uint64_t>(begin, info->dlpi_addr + segment.p_vaddr);
          end = std::max<uint64_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
        }
        module.begin = begin;
        module.end = end;
        module.bias = info->dlpi_addr;
        module.present = 1;
        const std::string path =
            *info->dlpi_name ? info->dlpi_name : std::filesystem::read_symlink("/proc/self/exe").string();
        strncpy(module.path, path.c_str(), sizeof module.path - 1);
        static_cast<std::vector<ModuleRecord>*>(into)->push_back(module);
        return 0;
      },
      &process.modules);
  return process;
}

// What the kernel reads, a sanitizer would not let us.
__attribute__((noinline, no_sanitize("address"))) void copy_stack(std::byte* to, uint64_t from,
                                                                  size_t bytes) {
  const auto* at = reinterpret_cast<const volatile std::byte*>(from);
  for (size_t i = 0; i < bytes; ++i) to[i] = at[i];
}

// A sample of the calling thread, as the kernel would have taken it here.
struct Taken {
  CpuSampleRecord record;
  std::vector<std::byte> stack;
  CpuSample sample() const { return {&record, stack}; }
};

__attribute__((noinline)) Taken sample_here() {
  static constexpr int kOrder[kSampledRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  ucontext_t context;
  getcontext(&context);
  Taken taken;
  taken.record.pid = taken.record.tid = 4711;
  taken.record.at_ns = 1000;
  taken.record.weight_ns = 5'000'000;
  for (int i = 0; i < kSampledRegisters; ++i)
    taken.record.registers[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
  taken.record.stack_bytes = 2048;
  taken.stack.resize(taken.record.stack_bytes);
  copy_stack(taken.stack.data(), taken.record.registers[7], taken.stack.size());
  return taken;
}

__attribute__((noinline)) Taken called_once_more() {
  Taken taken = sample_here();
  taken.record.reserved = 0;  // something behind the call, so that it stays one
  return taken;
}

TEST(Unwind, FindsTheCallersOfACopiedStack) {
  const Taken taken = called_once_more();
  const ProcessTrace process = own_process();
  const std::vector<CpuSample> samples = {taken.sample()};
  const auto unwound = unwind(process, samples);
  ASSERT_EQ(unwound.size(), 1u);
  ASSERT_GE(unwound[0].frames.size(), 3u) << "here, its caller, and that one's";
  const auto in = [&](Frame frame, const void* function, size_t within) {
    const ModuleRecord* module = process.module(frame.module());
    if (!module) return false;
    const uint64_t address = module->bias + frame.offset(), begin = reinterpret_cast<uint64_t>(function);
    return address >= begin && address < begin + within;
  };
  EXPECT_TRUE(in(unwound[0].frames[0], reinterpret_cast<const void*>(&sample_here), 4096));
  EXPECT_TRUE(in(unwound[0].frames[1], reinterpret_cast<const void*>(&called_once_more), 1024));
  EXPECT_EQ(unwound[0].weight.count, 5'000'000);
}

// By several threads, each with files of its own.
TEST(Unwind, ManyAreWalkedLikeOne) {
  const Taken taken = called_once_more();
  const ProcessTrace process = own_process();
  const std::vector<CpuSample> one = {taken.sample()}, many(1000, taken.sample());
  const auto frames = unwind(process, one)[0].frames;
  const auto unwound = unwind(process, many);
  ASSERT_EQ(unwound.size(), 1000u);
  const auto same = [](Frame a, Frame b) { return a.packed == b.packed; };
  for (const UnwoundSample& sample : unwound)
    ASSERT_TRUE(std::equal(sample.frames.begin(), sample.frames.end(), frames.begin(), frames.end(), same));
}

// Which of two files an address is in, libdwfl says: it has to know both.
TEST(Unwind, FilesThatLieOverEachOtherAreTaken) {
  const Taken taken = called_once_more();
  ProcessTrace process = own_process();
  const std::vector<CpuSample> samples = {taken.sample()};
  const size_t frames = unwind(process, samples)[0].frames.size();
  ModuleRecord unloaded = process.modules.back();
  strcpy(unloaded.path, "/nonexistent/plug_in.so");
  process.modules.push_back(unloaded);
  EXPECT_EQ(unwind(process, samples)[0].frames.size(), frames);
}

TEST(Unwind, LeavesOtherProcessesOut) {
  Taken taken = sample_here();
  taken.record.pid = 1;
  const std::vector<CpuSample> samples = {taken.sample()};
  EXPECT_TRUE(unwind(own_process(), samples).empty());
}

TEST(Unwind, TakesAnyRegistersAndAnyStack) {
  const ProcessTrace process = own_process();
  std::mt19937_64 random(3);
  std::vector<Taken> taken;
  for (int i = 0; i < 300; ++i) {
    Taken& one = taken.emplace_back(sample_here());
    for (int k = static_cast<int>(random() % 6); k > 0; --k) {
      one.record.registers[random() % kSampledRegisters] = random() >> (random() % 64);
      one.stack[random() % one.stack.size()] = static_cast<std::byte>(random());
    }
    one.stack.resize(random() % (one.stack.size() + 1));
  }
  std::vector<CpuSample> samples;
  for (const Taken& one : taken) samples.push_back(one.sample());
  const auto unwound = unwind(process, samples);
  EXPECT_EQ(unwound.size(), samples.size());
  for (const UnwoundSample& one : unwound) EXPECT_GE(one.frames.size(), 1u);
}

TEST(Unwind, TakesTheAgentOut) {
  ProcessTrace process;
  for (const char* path : {"/app/app", "/lib/x86_64-linux-gnu/libc.so.6", "/opt/d/lib/libdiogenes-agent.so",
                           "/opt/d/lib/libdiogenes-gpu-samples.so", "/app/libdiogenes.so"})
    strncpy(process.modules.emplace_back().path, path, sizeof(ModuleRecord::path) - 1);
  using Modules = std::vector<uint64_t>;
  const auto left = [&](const Modules& modules) -> std::optional<Modules> {
    std::vector<Frame> frames;
    for (const uint64_t module : modules) frames.push_back(Frame::of(module, 0x10));
    if (!take_agent_out(process, frames)) return std::nullopt;
    Modules found;
    for (const Frame frame : frames) found.push_back(frame.module());
    return found;
  };
  EXPECT_EQ(left({2, 0}), std::nullopt);
  EXPECT_EQ(left({3}), std::nullopt) << "a thread of its own";
  EXPECT_EQ(left({1, 2, 0}), Modules({1, 0})) << "the program signals a condition, through the agent";
  EXPECT_EQ(left({0, 2, 1}), Modules({0, 1})) << "a thread of the program, which the agent started";
  EXPECT_EQ(left({4, 0}), Modules({4, 0})) << "the program's";
  EXPECT_EQ(left({Frame::kPython, 0}), Modules({Frame::kPython, 0}));
  EXPECT_EQ(left({}), Modules{});
}

TEST(CpuSamplesFile, IsTakenAsFarAsItGoes) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / kCpuSamplesFile;
  const Taken taken = sample_here();
  std::string whole;
  for (int i = 0; i < 5; ++i) {
    whole.append(reinterpret_cast<const char*>(&taken.record), sizeof taken.record);
    whole.append(reinterpret_cast<const char*>(taken.stack.data()), taken.stack.size());
  }
  const auto count = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    auto samples = CpuSamples::open(path);
    return samples ? samples->all().size() : size_t{99};
  };
  EXPECT_EQ(count(whole), 5u);
  EXPECT_EQ(count(whole.substr(0, whole.size() - 1)), 4u);
  EXPECT_EQ(count(""), 0u);
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole.substr(0, random() % (whole.size() + 1));
    for (uint32_t k = random() % 5; k > 0 && !damaged.empty(); --k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_LE(count(damaged), 5u);
  }
}

}  // namespace
}  // namespace diogenes
