// bench-overhead-parts: what the parts of a recorded call take, each alone (Google Benchmark).
#include <benchmark/benchmark.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "agent/core/memory/content.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/core/thread_state.h"
#include "agent/core/unwind/frame_rule.h"
#include "base/units.h"
#include "ffm/plan.h"
#include "trace/searched_copies.h"

namespace diogenes::agent {

thread_local constinit ThreadState thread_state;  // hooks.cc defines it in the agent

namespace {

// As under a hook: the caller's rbp and return address lie below `call_frame`.
struct Below {
  uintptr_t rbp, return_address;
};
void (*measured)() = nullptr;

extern "C" [[gnu::used]] void diogenes_bench_under_hook(const Below* below) {
  thread_state.call_frame = reinterpret_cast<uintptr_t>(below + 1);
  measured();
}
[[gnu::naked, gnu::noinline]] void under_hook() {
  asm volatile(
      "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp; "
      "mov %rsp, %rdi; and $-16, %rsp; call diogenes_bench_under_hook; leave; .cfi_def_cfa %rsp, 8; "
      ".cfi_restore %rbp; ret");
}
[[gnu::noinline]] void at_depth(long frames) {
  if (frames > 1)
    at_depth(frames - 1);
  else
    under_hook();
  asm volatile("" ::: "memory");
}

// The benchmark's own frames come on top: about ten.
template <void (*part)()>
void at_frames(benchmark::State& state) {
  static benchmark::State* current;
  current = &state;
  measured = [] {
    for (auto _ : *current) part();
  };
  at_depth(state.range(0));
}

void own_walk() { benchmark::DoNotOptimize(capture_stack()); }
void libgcc_walk() {
  int frames = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* count) {
        benchmark::DoNotOptimize(_Unwind_GetIP(context));
        ++*static_cast<int*>(count);
        return _URC_NO_REASON;
      },
      &frames);
  benchmark::DoNotOptimize(frames);
}
BENCHMARK(at_frames<own_walk>)->Name("stack, known")->Arg(5)->Arg(25)->Arg(60);
BENCHMARK(at_frames<libgcc_walk>)->Name("stack, by libgcc's walk alone")->Arg(5)->Arg(25)->Arg(60);

void rule_cold(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_rule(reinterpret_cast<uintptr_t>(&read_rule) + 40));
}
void rule_warm(benchmark::State& state) {
  const RuleCache rules;
  for (auto _ : state)
    benchmark::DoNotOptimize(rules.behind_call(reinterpret_cast<uintptr_t>(&read_rule) + 40));
}
BENCHMARK(rule_cold)->Name("unwind rule of a frame, new");
BENCHMARK(rule_warm)->Name("unwind rule of a frame, known");

void clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(monotonic_now());
}
BENCHMARK(clock)->Name("clock");

void record(benchmark::State& state) {
  OperationRecord record{};
  record.type = RecordType::operation;
  record.stream = kNoStream;
  for (auto _ : state) append(record);
}
BENCHMARK(record)->Name("record")->Iterations(500'000);

bool copy_directly(void* to, const void* from, uint64_t bytes) { return memcpy(to, from, bytes) != nullptr; }

void hash(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<char> memory(bytes, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(content_of(memory.data(), bytes));
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}
BENCHMARK(hash)->Name("hash, bytes")->RangeMultiplier(64)->Range(64, 16 << 20);

template <CopyIfThere Copy>
void hash_if_there(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<char> memory(bytes, 'x');
  Content content;
  for (auto _ : state)
    benchmark::DoNotOptimize(content_if_there({reinterpret_cast<uint64_t>(memory.data()), bytes, 1, bytes},
                                              &content, nullptr, nullptr, Copy));
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}
BENCHMARK(hash_if_there<copy_if_there>)
    ->Name("hash of memory that may not be there, bytes")
    ->RangeMultiplier(64)
    ->Range(64, 16 << 20);
BENCHMARK(hash_if_there<copy_directly>)
    ->Name("hash of pinned memory, bytes")
    ->RangeMultiplier(64)
    ->Range(64, 16 << 20);

// What cannot be left out of an upload. Memory of the driver's lies in three stretches.
template <CopyIfThere Copy>
void search_upload(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<double> memory(bytes / sizeof(double), 0);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i) * 1.25;
  AddressBounds bounds{};
  for (const uintptr_t begin : {0x7f0000000000, 0x7f4000000000, 0x555000000000})
    bounds.add(AddressRange::of(begin, 64 << 20));
  const auto look = [](void* context, const void* piece, uint64_t size) {
    KernelAddresses found;
    found.clear();
    scan_words(piece, size, *static_cast<AddressBounds*>(context), found);
    benchmark::DoNotOptimize(found.count);
  };
  for (auto _ : state)
    benchmark::DoNotOptimize(content_if_there({reinterpret_cast<uint64_t>(memory.data()), bytes, 1, bytes},
                                              nullptr, look, &bounds, Copy));
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}
BENCHMARK(search_upload<copy_if_there>)
    ->Name("search of an upload from pageable memory, bytes")
    ->RangeMultiplier(32)
    ->Range(64, kMostSearched);
BENCHMARK(search_upload<copy_directly>)
    ->Name("search of an upload from pinned memory, bytes")
    ->RangeMultiplier(32)
    ->Range(64, kMostSearched);

}  // namespace
}  // namespace diogenes::agent

int main(int argc, char** argv) {
  using namespace diogenes;
  using namespace diogenes::agent;
  char folder[] = "/tmp/diogenes-bench-XXXXXX";
  if (!mkdtemp(folder)) return perror(folder), 1;
  Plan plan{};
  memcpy(plan.magic, kPlanMagic, sizeof kPlanMagic);
  plan.version = kPlanVersion;
  plan.stage = Stage::tracing;
  plan.recorded_bytes_limit = 1 << 30;
  plan.file_bytes = sizeof plan;
  std::ofstream(std::string(folder) + "/plan", std::ios::binary)
      .write(reinterpret_cast<char*>(&plan), sizeof plan);
  setenv(kPlanVariable, (std::string(folder) + "/plan").c_str(), 1);
  if (!load_plan() || !open_process_folder()) return fprintf(stderr, "cannot write to %s\n", folder), 1;
  update_modules();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(folder);
}
