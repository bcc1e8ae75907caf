#include "analysis/runs/thread_sleeps.h"

#include <algorithm>

#include "trace/fact_records.h"
#include "trace/reader.h"

namespace diogenes {
namespace {

uint64_t sleeps_of(const ThreadTrace& thread) {
  uint64_t count = 0;
  for (size_t i = 0; i < thread.record_count(); ++i) {
    if (thread.type(i) != RecordType::order) continue;
    const auto& record = thread.record<OrderRecord>(i);
    count += (record.flags & kAcquires) != 0 && (record.flags & kBlocked) != 0;
  }
  thread.release_pages();
  return count;
}

}  // namespace

uint64_t count_thread_sleeps(const std::filesystem::path& stage_folder) {
  const auto stage = read_stage(stage_folder);
  uint64_t most = 0;
  if (!stage) return most;
  for (const ProcessTrace& process : stage->processes) {
    if (process.threads.size() < 2) continue;
    uint64_t count = 0;
    for (const ThreadTrace& thread : process.threads) count += sleeps_of(thread);
    most = std::max(most, count);
  }
  return most;
}

}  // namespace diogenes
