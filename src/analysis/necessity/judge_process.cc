#include "analysis/necessity/judge_process.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/check.h"
#include "analysis/necessity/interpret.h"
#include "analysis/necessity/judge.h"
#include "analysis/necessity/record_cursor.h"
#include "analysis/necessity/transfers.h"

namespace diogenes::necessity {
namespace {

void note_verdicts(const Judge& judge, Process& process) {
  std::unordered_map<uint32_t, Thread*> threads;
  for (Thread& thread : process.threads) threads[thread.ordinal] = &thread;
  for (size_t i = 0; i < judge.size(); ++i) {
    const Verdict verdict = judge.verdict(i);
    auto found = threads.find(verdict.operation.thread);
    if (found == threads.end() || verdict.operation.sequence >= found->second->evidence.size()) continue;
    Evidence& evidence = found->second->evidence[verdict.operation.sequence];
    evidence.judged = true;
    evidence.reasons = verdict.reasons;
    evidence.conditions |= verdict.conditions;
    evidence.after_ns = std::min(verdict.after_ns, kLatestTime);
    evidence.use_stack = verdict.use_stack;
  }
}

}  // namespace

bool has_facts(const ProcessTrace& trace) {
  return std::any_of(trace.threads.begin(), trace.threads.end(), [](const ThreadTrace& thread) {
    for (size_t i = 0; i < thread.record_count(); ++i)
      if (thread.type(i) == RecordType::call) return true;
    return false;
  });
}

Unclear judge_process(Process& process, const SiteTable& sites) {
  Interpretation interpretation(process);
  Judge judge;
  Unclear unclear = interpretation.replay(judge);
  judge.finish();
  std::vector<bool> needed = judge.needed();
  // Other code than the one that chose looks whether all findings together leave every pair in order.
  auto again = [&interpretation](EventSink& sink) { interpretation.replay(sink); };
  const CheckResult checked = withdraw_unsound(again, needed);
  judge.keep(needed);
  unclear.withdrawn += checked.withdrawn;
  note_verdicts(judge, process);
  TransferJudge transfers(process, sites);
  interpretation.replay(transfers);
  note_findings(transfers, process);
  return unclear;
}

}  // namespace diogenes::necessity
