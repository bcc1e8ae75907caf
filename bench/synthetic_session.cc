// synthetic_session --operations N --output DIR [--gpu-times off]: a session of N operations in stage 2, as
// of a program that loops over launches, copies and waits, some of them needless, moved too early or
// duplicate. The body of the loop is a timeline; its records are written once for each round, with times and
// sequences moved on. With the GPU's times, as most sessions have them, unless they are off. Its verdicts are
// given by hand: what judging takes, bench-necessity measures.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/testing/trace_builder.h"

namespace {

using namespace diogenes;
using namespace diogenes::testing;
namespace fs = std::filesystem;

// The last step's work on the GPU: so long after the step's end.
void on_gpu(Timeline& trace, double behind_us, double time_us) {
  trace.on_gpu(at(static_cast<double>(trace.end_ns()) / 1000 + behind_us), lasting(time_us));
}

Timeline body() {
  auto trace = timeline();
  for (int part = 0; part < 10; ++part) {
    trace.work(5).copy("cuMemcpyHtoD_v2", 4096, lasting(6), 2).needed(kOrder);
    on_gpu(trace, -5, 4);
    trace.work(4).launch(3);
    on_gpu(trace, 2, 18);
    trace.work(2).launch(3);
    on_gpu(trace, 16, 20);
    trace.sync(lasting(40)).unnecessary();
    trace.work(30).launch(3);
    on_gpu(trace, 2, 16);
    trace.sync(lasting(20)).first_use(after(35)).work(60);
    trace.copy("cuMemcpyDtoH_v2", 65536, lasting(30), 4).first_use(after(1)).work(10);
    on_gpu(trace, -38, 25);
    trace.launch(3);
    on_gpu(trace, 2, 5);
    trace.launch(3);
    on_gpu(trace, 5, 6);
    trace.sync(lasting(12)).needed(kOrder);
  }
  return trace;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void repeat(const fs::path& path, uint64_t rounds, int64_t period_ns) {
  std::string bytes = contents(path);
  std::vector<OperationRecord> records;
  uint32_t operations = 0;
  for (size_t at = sizeof(FileHeader); at + sizeof(OperationRecord) <= bytes.size();
       at += sizeof(OperationRecord)) {
    OperationRecord record;
    memcpy(&record, bytes.data() + at, sizeof record);
    if (record.type == RecordType::none) break;
    operations += record.type == RecordType::operation;
    records.push_back(record);
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), sizeof(FileHeader));
  for (uint64_t round = 0; round < rounds; ++round) {
    auto shift = static_cast<uint32_t>(round * operations);
    std::vector<OperationRecord> now = records;
    for (OperationRecord& record : now) {
      if (record.type == RecordType::operation) {
        record.begin_ns += static_cast<int64_t>(round) * period_ns;
      } else if (record.type == RecordType::gpu_time) {
        GpuTimeRecord time;
        memcpy(static_cast<void*>(&time), &record, sizeof time);
        time.sequence += shift;
        time.begin_ns += static_cast<int64_t>(round) * period_ns;
        time.end_ns += static_cast<int64_t>(round) * period_ns;
        memcpy(static_cast<void*>(&record), &time, sizeof time);
      }
    }
    out.write(reinterpret_cast<const char*>(now.data()),
              static_cast<std::streamsize>(now.size() * sizeof(OperationRecord)));
  }
  std::string end(64, '\0');
  out.write(end.data(), static_cast<std::streamsize>(end.size()));
}

// The verdicts of one round, for each round.
void repeat_verdicts(const fs::path& path, uint64_t rounds, uint32_t operations) {
  std::string bytes = contents(path);
  std::vector<GivenVerdict> once(bytes.size() / sizeof(GivenVerdict));
  memcpy(static_cast<void*>(once.data()), bytes.data(), once.size() * sizeof(GivenVerdict));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (uint64_t round = 0; round < rounds; ++round) {
    auto shift = static_cast<uint32_t>(round * operations);
    std::vector<GivenVerdict> now = once;
    for (GivenVerdict& verdict : now) {
      verdict.operation.sequence += shift;
      verdict.first.sequence += shift;
    }
    out.write(reinterpret_cast<const char*>(now.data()),
              static_cast<std::streamsize>(now.size() * sizeof(GivenVerdict)));
  }
}

void lengthen(const fs::path& path, int64_t by_ns) {
  std::string bytes = contents(path);
  ProcessFile process;
  memcpy(&process, bytes.data(), sizeof process);
  process.ended_ns += by_ns;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<char*>(&process), sizeof process);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t operations = 0;
  std::string output, gpu_times = "on";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--operations")) operations = strtoull(argv[i + 1], nullptr, 10);
    if (!strcmp(argv[i], "--output")) output = argv[i + 1];
    if (!strcmp(argv[i], "--gpu-times")) gpu_times = argv[i + 1];
  }
  if (operations == 0 || output.empty() || (gpu_times != "on" && gpu_times != "off")) {
    fprintf(stderr, "usage: synthetic_session --operations N --output DIR [--gpu-times on|off]\n");
    return 2;
  }
  Timeline once = body();
  uint64_t rounds = (operations + once.steps().size() - 1) / once.steps().size();
  int64_t period = once.end_ns();
  ProcessOptions options;
  options.launches_traced = true;
  const double runtime_us = static_cast<double>(period) * 1e-3 * static_cast<double>(rounds);
  Session session = write_session(output, once, options, runtime_us);
  if (gpu_times == "on") {
    const std::string name = stage_name(Stage::gpu_times);
    options.stage = Stage::gpu_times;
    fs::create_directories(fs::path(output) / name);
    write_process(fs::path(output) / name, once, options);
    session.runs.push_back(
        {.name = name, .folder = name, .state = "complete", .runtime_s = runtime_us * 1e-6});
    if (auto status = diogenes::write_session(output, session); !status) {
      fprintf(stderr, "synthetic_session: %s\n", status.error().c_str());
      return 1;
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(output)) {
    std::string name = entry.path().filename().string();
    bool baseline =
        entry.path().string().find(std::string("/") + stage_name(Stage::baseline)) != std::string::npos;
    if (baseline) continue;
    if (name.starts_with("thread-")) repeat(entry.path(), rounds, period);
    if (name == "verdicts") repeat_verdicts(entry.path(), rounds, static_cast<uint32_t>(once.steps().size()));
    if (name == "process") lengthen(entry.path(), static_cast<int64_t>(rounds - 1) * period);
  }
  printf("%llu operations in %s\n", static_cast<unsigned long long>(rounds * once.steps().size()),
         output.c_str());
}
