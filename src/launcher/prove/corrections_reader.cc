#include "launcher/prove/corrections_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace diogenes::launcher {

namespace fs = std::filesystem;

namespace {

void add(CorrectionCounts& sum, const CorrectionCounts& counts) {
  sum.key = counts.key;
  sum.calls += counts.calls;
  sum.deferred += counts.deferred;
  sum.touched += counts.touched;
  sum.used += counts.used;
  sum.other_content += counts.other_content;
  for (size_t i = 0; i < std::size(sum.undeferred); ++i) sum.undeferred[i] += counts.undeferred[i];
}

struct Lifetime {
  int64_t begun_ns, ended_ns;  // ended_ns 0: not known
};

void add_file(CountsOfRun& run, const fs::path& path, std::vector<Lifetime>& processes) {
  std::ifstream file(path, std::ios::binary);
  CorrectionsHeader header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      memcmp(header.magic, kCorrectionsMagic, sizeof header.magic) != 0)
    return;
  run.awaited += header.awaited;
  run.failed += header.failed;
  run.ordered += header.ordered;
  run.awaited_s += static_cast<double>(header.awaited_ns) / 1e9;
  run.looked_s += static_cast<double>(header.looked_ns) / 1e9;
  run.correcting_s += static_cast<double>(header.correcting_ns) / 1e9;
  run.passing_s += static_cast<double>(header.passing_ns) / 1e9;
  if (header.begun_ns != 0) processes.push_back({header.begun_ns, header.ended_ns});
  CorrectionCounts counts{};
  for (uint64_t i = 0; i < header.sites && i < kMostCorrectedSites; ++i) {
    if (!file.read(reinterpret_cast<char*>(&counts), sizeof counts)) return;
    add(run.by_site[counts.key], counts);
  }
}

}  // namespace

void CountsOfRun::add(const CountsOfRun& other) {
  for (const auto& [key, counts] : other.by_site) launcher::add(by_site[key], counts);
  awaited += other.awaited, awaited_s += other.awaited_s, looked_s += other.looked_s;
  correcting_s += other.correcting_s, passing_s += other.passing_s, failed += other.failed;
  ordered += other.ordered;
}

CorrectionCounts CountsOfRun::all_sites() const {
  CorrectionCounts all{};
  for (const auto& [key, counts] : by_site) launcher::add(all, counts);
  return all;
}

CountsOfRun read_counts(const fs::path& run_folder) {
  CountsOfRun run;
  std::vector<Lifetime> processes;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_folder, failed))
    if (entry.is_directory(failed)) add_file(run, entry.path() / "corrections", processes);
  for (const Lifetime& one : processes) {
    if (one.ended_ns <= one.begun_ns) {
      run.begun_ns = run.ended_ns = 0;
      break;
    }
    run.begun_ns = run.begun_ns == 0 ? one.begun_ns : std::min(run.begun_ns, one.begun_ns);
    run.ended_ns = std::max(run.ended_ns, one.ended_ns);
  }
  return run;
}

const char* undeferred_text(Undeferred why) {
  switch (why) {
    case Undeferred::none:
      return "";
    case Undeferred::small:
      return "results share a page with other data";
    case Undeferred::unguarded:
      return "a result's memory could not be guarded";
    case Undeferred::unknown_memory:
      return "which host memory the GPU writes is not known";
    case Undeferred::host_work:
      return "the GPU's work waits for the CPU, runs the program's code, or shares memory with other processes";
    case Undeferred::shared:
      return "several threads share memory with kernels";
    case Undeferred::unknown_work:
      return "which work the call waits for is not known";
    case Undeferred::capturing:
      return "a stream is being captured";
    case Undeferred::no_mark:
      return "the driver writes no marks";
    case Undeferred::unknown_block:
      return "the memory's allocation was not seen";
    case Undeferred::pool_full:
      return "no more memory may be kept (--pool-limit)";
    case Undeferred::threads:
      return "the program had several threads, or handlers of signals, and did not end when such waits were corrected";
    case Undeferred::was_needed:
      return "what one of these calls waits for was used, though the report says that nothing needs it";
    case Undeferred::form:
      return "it is neither a copy of one row between the GPU's memory and the host's, nor a fill of one row of the host's";
    case Undeferred::count:
      break;
  }
  return "not known";
}

}  // namespace diogenes::launcher
