#include "analysis/necessity/judge_process.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/interpret/record_cursor.h"
#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/judge/judge.h"

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

Judgement ProcessJudge::judge(Check check) {
  auto judge = std::make_unique<Judge>();
  Judgement judgement;
  std::vector<UnnamedMemory::Span> unnamed;
  judgement.unclear = interpretation_.replay(*judge, &unnamed);
  if (!judge->polling().empty()) {
    polling_ = judge->polling();
    judge = std::make_unique<Judge>();
    GateMarker marked(polling_, *judge);
    interpretation_.replay(marked);
  }
  judge->finish();
  judge->note_unnamed(unnamed);
  needed_ = judge->needed();
  if (check == Check::first) {
    CheckResult checked = withdraw_unsound(
        [&](EventSink& sink) {
          GateMarker marked(polling_, sink);
          interpretation_.replay(marked);
        },
        needed_);
    judge->keep(needed_);
    judgement.withdrawn = checked.withdrawn;
    judgement.unchecked = checked.unchecked;
  }
  for (const PeerAccess& peer : peers_) ++(peer.range.empty() ? judgement.devices : judgement.peers);
  note_verdicts(*judge, process_);
  return judgement;
}

bool ProcessJudge::holds() const {
  std::vector<bool> needed = needed_;
  const CheckResult checked = withdraw_unsound(
      [&](EventSink& sink) {
        GateMarker marked(polling_, sink);
        interpretation_.replay_without_sites(marked);
      },
      needed);
  return checked.withdrawn == 0 && checked.unchecked == 0;
}

void ProcessJudge::judge_transfers() {
  transfers_ = std::make_unique<TransferJudge>(process_, sites_);
  interpretation_.replay(*transfers_);
}

void ProcessJudge::note_transfers() {
  note_findings(*transfers_, process_);
  transfers_.reset();
}

}  // namespace diogenes::necessity
