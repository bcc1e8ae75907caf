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

// Both judges in one replay.
class Both : public EventSink {
 public:
  Both(EventSink& one, EventSink& other) : one_(one), other_(other) {}
  void take(const Event& event) override {
    one_.take(event);
    other_.take(event);
  }

 private:
  EventSink &one_, &other_;
};

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
  Interpretation interpretation(process, peers);
  Judge judge;
  TransferJudge transfers(process, sites);
  Both both(judge, transfers);
  Judgement judgement;
  judgement.unclear = interpretation.replay(both);
  judge.finish();
  std::vector<bool> needed = judge.needed();
  CheckResult checked = withdraw_unsound([&](EventSink& sink) { interpretation.replay(sink); }, needed);
  judge.keep(needed);
  judgement.withdrawn = checked.withdrawn;
  judgement.unchecked = checked.unchecked;
  for (const PeerAccess& peer : peers) ++(peer.range.empty() ? judgement.devices : judgement.peers);
  note_verdicts(judge, process);
  note_findings(transfers, process);
  return judgement;
}

}  // namespace diogenes::necessity
