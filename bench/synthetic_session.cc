// synthetic_session --operations N --output DIR [--facts on] [--gpu-times off]: a session of N operations in
// stage 2, as of a program that loops over launches, copies and waits, some of them needless, moved too early or
// duplicate. The body of the loop is a timeline; its records are written once for each round, with times and
// sequences moved on. With the GPU's times, as most sessions have them, unless they are off.
// With facts the session has three runs, as those of `diogenes run`: stage 3 holds its facts and the GPU's times.
// Without them its verdicts are given by hand, for bench-analysis, and GPU times have a run of their own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/testing/trace_builder.h"
#include "synthetic_facts.h"
#include "trace/fact_records.h"

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

// What one round adds to the numbers and times of the records.
struct RoundAdds {
  uint32_t operations = 0, watches = 0;
  int64_t ns = 0;
};

template <typename Record, typename Change>
void edit(OperationRecord& bytes, Change change) {
  Record record;
  memcpy(static_cast<void*>(&record), &bytes, sizeof record);
  change(record);
  memcpy(static_cast<void*>(&bytes), &record, sizeof record);
}

void move_on(OperationRecord& record, const RoundAdds& by, uint32_t round) {
  const int64_t later = by.ns * round;
  switch (record.type) {
    case RecordType::operation:
      record.begin_ns += later;
      break;
    case RecordType::gpu_time:
      edit<GpuTimeRecord>(record, [&](GpuTimeRecord& time) {
        time.sequence += by.operations * round;
        time.begin_ns += later;
        time.end_ns += later;
      });
      break;
    case RecordType::hash:
      edit<HashRecord>(record, [&](HashRecord& hash) {
        hash.sequence += by.operations * round;
        hash.hash[1] = round / 2;  // every second upload brings what is there already
      });
      break;
    case RecordType::watch:
      edit<WatchRecord>(record, [&](WatchRecord& watch) {
        watch.at_ns += later;
        watch.watch += by.watches * round;
      });
      break;
    case RecordType::touch:
      edit<TouchRecord>(record, [&](TouchRecord& touch) {
        touch.at_ns += later;
        touch.watch += by.watches * round;
      });
      break;
    default:
      break;
  }
}

void repeat(const fs::path& path, uint64_t rounds, const RoundAdds& adds) {
  const std::string bytes = contents(path);
  std::vector<OperationRecord> records;
  for (size_t at = sizeof(FileHeader); at + sizeof(OperationRecord) <= bytes.size();
       at += sizeof(OperationRecord)) {
    OperationRecord record;
    memcpy(&record, bytes.data() + at, sizeof record);
    if (record.type == RecordType::none || record.type == RecordType::thread) break;
    records.push_back(record);
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), sizeof(FileHeader));
  for (uint32_t round = 0; round < rounds; ++round) {
    std::vector<OperationRecord> now = records;
    for (OperationRecord& record : now) move_on(record, adds, round);
    out.write(reinterpret_cast<const char*>(now.data()),
              static_cast<std::streamsize>(now.size() * sizeof(OperationRecord)));
  }
  const std::string end(64, '\0');
  out.write(end.data(), static_cast<std::streamsize>(end.size()));
}

// The verdicts of one round, for each round.
void repeat_verdicts(const fs::path& path, uint64_t rounds, uint32_t operations) {
  std::string bytes = contents(path);
  std::vector<LiteralVerdict> once(bytes.size() / sizeof(LiteralVerdict));
  memcpy(static_cast<void*>(once.data()), bytes.data(), once.size() * sizeof(LiteralVerdict));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (uint64_t round = 0; round < rounds; ++round) {
    auto shift = static_cast<uint32_t>(round * operations);
    std::vector<LiteralVerdict> now = once;
    for (LiteralVerdict& verdict : now) {
      verdict.operation.sequence += shift;
      verdict.first.sequence += shift;
    }
    out.write(reinterpret_cast<const char*>(now.data()),
              static_cast<std::streamsize>(now.size() * sizeof(LiteralVerdict)));
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

struct Wanted {
  uint64_t operations = 0;
  std::string output;
  bool gpu_times = true, facts = false;
};

void drop_run(Session& session, const fs::path& output, Stage stage) {
  const std::string name = stage_name(stage);
  fs::remove_all(output / name);
  std::erase_if(session.runs, [&](const StageRun& run) { return run.name == name; });
}

// The session of one round. Out: how many watches it has.
Result<uint32_t> write_once(const Wanted& wanted, const Timeline& once, double runtime_us) {
  ProcessOptions options;
  options.launches_traced = true;
  Session session = write_session(wanted.output, once, options, runtime_us);
  uint32_t watches = 0;
  if (wanted.facts) {
    const fs::path facts = fs::path(wanted.output) / stage_name(Stage::memory_tracing);
    fs::remove_all(facts);
    watches = write_facts(facts, once, options);
    drop_run(session, wanted.output, Stage::sync_use);
  } else if (wanted.gpu_times) {
    const std::string name = stage_name(Stage::gpu_times);
    options.stage = Stage::gpu_times;
    fs::create_directories(fs::path(wanted.output) / name);
    write_process(fs::path(wanted.output) / name, once, options);
    session.runs.push_back(
        {.name = name, .folder = name, .state = "complete", .runtime_s = runtime_us * 1e-6});
  }
  if (auto status = diogenes::write_session(wanted.output, session); !status) return status.error();
  return watches;
}

bool parse(int argc, char** argv, Wanted& wanted) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--operations") wanted.operations = strtoull(value.c_str(), nullptr, 10);
    if (name == "--output") wanted.output = value;
    if (name == "--gpu-times") wanted.gpu_times = value == "on";
    if (name == "--facts") wanted.facts = value == "on";
    if ((name == "--gpu-times" || name == "--facts") && value != "on" && value != "off") return false;
  }
  return wanted.operations > 0 && !wanted.output.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  if (!parse(argc, argv, wanted)) {
    fprintf(stderr,
            "usage: synthetic_session --operations N --output DIR [--facts on|off] [--gpu-times on|off]\n");
    return 2;
  }
  const Timeline once = wanted.facts ? body_with_facts() : body();
  const uint64_t rounds = (wanted.operations + once.steps().size() - 1) / once.steps().size();
  RoundAdds adds{static_cast<uint32_t>(once.steps().size()), 0, once.end_ns()};
  const auto watches =
      write_once(wanted, once, static_cast<double>(adds.ns) * 1e-3 * static_cast<double>(rounds));
  if (!watches.ok()) {
    fprintf(stderr, "synthetic_session: %s\n", watches.error().c_str());
    return 1;
  }
  adds.watches = *watches;
  for (const auto& entry : fs::recursive_directory_iterator(wanted.output)) {
    std::string name = entry.path().filename().string();
    bool baseline =
        entry.path().string().find(std::string("/") + stage_name(Stage::baseline)) != std::string::npos;
    if (baseline) continue;
    if (name.starts_with("thread-")) repeat(entry.path(), rounds, adds);
    if (name == "verdicts") repeat_verdicts(entry.path(), rounds, adds.operations);
    if (name == "process") lengthen(entry.path(), static_cast<int64_t>(rounds - 1) * adds.ns);
  }
  printf("%llu operations in %s\n", static_cast<unsigned long long>(rounds * adds.operations),
         wanted.output.c_str());
}
