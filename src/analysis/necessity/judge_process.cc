#include "analysis/necessity/judge_process.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/in_background.h"
#include "analysis/necessity/interpret/interpret.h"
#include "analysis/necessity/interpret/record_cursor.h"
#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/transfers/dead_transfers.h"

namespace diogenes::necessity {
namespace {

void note_verdicts(const Judge& judge, Process& process) {
  std::unordered_map<uint32_t, Thread*> threads;
  for (Thread& thread : process.threads) threads[thread.ordinal] = &thread;
  for (size_t number = 0; number < judge.size(); ++number) {
    Verdict verdict = judge.verdict(number);
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

Judgement judge_process(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers) {
  const Interpretation interpretation(process, peers);
  TransferJudge transfers(process, sites);
  Judge judge;
  Judgement judgement;
  judgement.unclear = interpretation.replay(judge);
  judge.finish();
  // Nothing of what follows asks for transfers. They have a replay of their own beside the check, which takes as long.
  auto of_transfers = in_background([&] { interpretation.replay(transfers); });
  std::vector<bool> needed = judge.needed();
  CheckResult checked = withdraw_unsound([&](EventSink& sink) { interpretation.replay(sink); }, needed);
  judge.keep(needed);
  judgement.withdrawn = checked.withdrawn;
  judgement.unchecked = checked.unchecked;
  for (const PeerAccess& peer : peers) ++(peer.range.empty() ? judgement.devices : judgement.peers);
  note_verdicts(judge, process);
  of_transfers.get();
  note_findings(transfers, process);
  return judgement;
}

}  // namespace diogenes::necessity
