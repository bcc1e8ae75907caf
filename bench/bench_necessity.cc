// bench-necessity --operations N [--streams S] [--buffers B] [--watched on|off]: what each part of the
// judging of stage 3's facts takes, in time and memory. The program loops over two launches, an asynchronous
// download, a wait for its stream and a touch of the result; the streams and the buffers take turns. The
// records of one turn are written once for each round, with times and watch numbers moved on.
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/necessity/interpret/interpret.h"
#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/transfers/dead_transfers.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace {

using namespace diogenes;
using namespace diogenes::testing;
namespace fs = std::filesystem;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x1000'0000, kBytes = 65'536;
constexpr int64_t kStep = 100;  // ns, from call to call

struct Shape {
  uint64_t operations = 0;
  uint32_t streams = 1, buffers = 4;
  bool watched = true;
};

struct Body {
  Facts facts;
  uint32_t watches = 0;
  uint64_t operations = 0;
  int64_t lasts = 0;
};

Body body(const Shape& shape) {
  Body body;
  Facts& facts = body.facts;
  for (uint32_t i = 0; i < shape.streams; ++i) facts.stream(2 + i, kCertainStream);
  int64_t at = 1000;
  for (uint32_t turn = 0; turn < std::max(shape.streams, shape.buffers); ++turn) {
    const uint32_t stream = 2 + turn % shape.streams, buffer = turn % shape.buffers;
    const uint64_t device = kDevice + buffer * kBytes, host = kHost + buffer * kBytes;
    const CallFacts launch{
        .stream = stream,
        .operands = {operand(device, kBytes, kReads | kWrites | kArgument, MemoryKind::device)},
        .list_flags = kHasKernel};
    for (int i = 0; i < 2; ++i) {
      CallFacts now = launch;
      now.begin = at += kStep;
      facts.call("cuLaunchKernel", now);
    }
    facts.call("cuMemcpyDtoHAsync_v2",
               {.begin = at += kStep,
                .stream = stream,
                .operands = {operand(device, kBytes, kReads, MemoryKind::device),
                             operand(host, kBytes, kWrites | kWhole, MemoryKind::pinned)},
                .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, kBytes, host, device)});
    at += kStep;
    if (shape.watched) facts.watch(++body.watches, host, kBytes, at + 15);
    facts.call("cuStreamSynchronize", {.begin = at, .after = 10, .flags = kWaited, .stream = stream});
    if (shape.watched) facts.touch(body.watches, at + 40);
    body.operations += 4;
  }
  body.lasts = at;
  return body;
}

template <typename Record, typename Change>
void change(std::string& bytes, size_t at, Change edit) {
  Record record;
  memcpy(&record, bytes.data() + at, sizeof record);
  edit(record);
  memcpy(bytes.data() + at, &record, sizeof record);
}

void repeat(const fs::path& path, const Body& body, uint64_t rounds) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), sizeof(FileHeader));
  const std::string once = bytes.substr(sizeof(FileHeader), bytes.size() - sizeof(FileHeader) - 64);
  for (uint64_t round = 0; round < rounds; ++round) {
    std::string now = once;
    const auto later = static_cast<int64_t>(round) * body.lasts;
    const auto watches = static_cast<uint32_t>(round) * body.watches;
    size_t from = 0;
    for (size_t at = 0; at < now.size(); at += sizeof(OperationRecord)) {
      switch (static_cast<RecordType>(now[at])) {
        case RecordType::operation:
          change<OperationRecord>(now, at, [&](OperationRecord& record) { record.begin_ns += later; });
          break;
        case RecordType::watch:
          change<WatchRecord>(now, at, [&](WatchRecord& record) {
            record.at_ns += later;
            record.watch += watches;
          });
          break;
        case RecordType::touch:
          change<TouchRecord>(now, at, [&](TouchRecord& record) {
            record.at_ns += later;
            record.watch += watches;
          });
          break;
        case RecordType::stream:  // once
          if (round > 0) from = at + sizeof(OperationRecord);
          break;
        default:
          break;
      }
    }
    out.write(now.data() + from, static_cast<std::streamsize>(now.size() - from));
  }
  out << std::string(64, '\0');
}

class Nobody : public necessity::EventSink {
 public:
  void take(const necessity::Event&) override { ++events_; }
  size_t events() const { return events_; }

 private:
  size_t events_ = 0;
};

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Runs a part, and prints its time and the heap that it has taken by its end.
template <typename Part>
void measure(const char* name, uint64_t operations, Part part) {
  const auto begin = std::chrono::steady_clock::now();
  const double heap = part();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  printf("%-16s %8.3f s  %7.3f us/operation  heap %7.1f MB  peak resident %7.1f MB\n", name, took,
         took * 1e6 / static_cast<double>(operations), heap, peak_mb());
  fflush(stdout);
}

double heap_mb() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

int bench(const Shape& shape) {
  TemporaryFolder folder;
  const Body once = body(shape);
  const uint64_t rounds = (shape.operations + once.operations - 1) / once.operations;
  const uint64_t operations = rounds * once.operations;
  once.facts.write(folder.path());
  repeat(folder.path() / "node-100" / "thread-0", once, rounds);
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::operations);
  if (!run) return 1;
  Process& process = run->processes.at(0);
  for (Thread& thread : process.threads) thread.evidence.resize(thread.operations.size());
  printf("%llu operations, resident %.1f MB when loaded\n", static_cast<unsigned long long>(operations),
         peak_mb());
  const double before = heap_mb();

  std::unique_ptr<necessity::Interpretation> interpretation;
  measure("survey", operations, [&] {
    interpretation = std::make_unique<necessity::Interpretation>(process);
    return heap_mb() - before;
  });
  measure("interpretation", operations, [&] {
    Nobody nobody;
    interpretation->replay(nobody);
    return heap_mb() - before;
  });
  necessity::Judge judge;
  measure("with judge", operations, [&] {
    interpretation->replay(judge);
    judge.finish();
    return heap_mb() - before;
  });
  measure("with transfers", operations, [&] {
    necessity::TransferJudge transfers(process, sites);
    interpretation->replay(transfers);
    return heap_mb() - before;
  });
  std::vector<bool> needed = judge.needed();
  measure("with check", operations, [&] {
    const necessity::CheckResult result = necessity::withdraw_unsound(
        [&](necessity::EventSink& sink) { interpretation->replay(sink); }, needed);
    printf("(needed %zu of %zu, withdrawn %zu, unchecked %zu)\n",
           static_cast<size_t>(std::count(needed.begin(), needed.end(), true)), needed.size(),
           result.withdrawn, result.unchecked);
    return heap_mb() - before;
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--operations") shape.operations = strtoull(argv[i + 1], nullptr, 10);
    if (name == "--streams") shape.streams = static_cast<uint32_t>(strtoul(argv[i + 1], nullptr, 10));
    if (name == "--buffers") shape.buffers = static_cast<uint32_t>(strtoul(argv[i + 1], nullptr, 10));
    if (name == "--watched") shape.watched = std::string(argv[i + 1]) == "on";
  }
  if (shape.operations == 0 || shape.streams == 0 || shape.buffers == 0) {
    fprintf(stderr, "usage: bench-necessity --operations N [--streams S] [--buffers B] [--watched on|off]\n");
    return 2;
  }
  return bench(shape);
}
