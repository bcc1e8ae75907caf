#include "analysis/necessity/evidence.h"

#include <unordered_map>

#include "analysis/necessity/interpret.h"
#include "analysis/necessity/judge.h"

namespace diogenes::necessity {

bool judge_process(Process& process) {
  const Interpretation interpretation(process);
  if (!interpretation.has_facts()) return false;
  Judge judge;
  interpretation.replay(judge);
  std::unordered_map<uint32_t, Thread*> by_ordinal;
  for (Thread& thread : process.threads) by_ordinal[thread.ordinal] = &thread;
  for (const Verdict& verdict : judge.verdicts()) {
    auto thread = by_ordinal.find(verdict.operation.thread);
    if (thread == by_ordinal.end() || verdict.operation.sequence >= thread->second->evidence.size()) continue;
    Evidence& evidence = thread->second->evidence[verdict.operation.sequence];
    evidence.reasons = verdict.reasons;
    evidence.conditions |= verdict.conditions;
    evidence.judged = true;
    evidence.after_ns = verdict.after_ns;
    evidence.use_stack = verdict.use_stack;
  }
  return true;
}

}  // namespace diogenes::necessity
