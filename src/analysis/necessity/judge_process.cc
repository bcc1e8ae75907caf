#include "analysis/necessity/judge_process.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "analysis/necessity/interpret/record_cursor.h"
#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/judge/narrow_waits.h"
#include "analysis/runs/first_uses.h"
#include "base/in_background.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kForgetsAfter = 1024;
constexpr uint64_t kNarrowRounds = 8;  // each of them takes as long as judging

class EvidenceOf {
 public:
  explicit EvidenceOf(Process& process) {
    for (Thread& thread : process.threads) threads_[thread.ordinal] = &thread;
  }
  // Null: a damaged trace has none.
  Evidence* operator()(OperationId operation) const {
    auto found = threads_.find(operation.thread);
    if (found == threads_.end() || operation.sequence >= found->second->evidence.size()) return nullptr;
    return &found->second->evidence[operation.sequence];
  }

 private:
  std::unordered_map<uint32_t, Thread*> threads_;
};

void note_verdicts(const Judge& judge, Process& process) {
  const EvidenceOf evidence_of(process);
  for (size_t number = 0; number < judge.size(); ++number) {
    Verdict verdict = judge.verdict(number);
    Evidence* found = evidence_of(verdict.operation);
    if (!found) continue;
    Evidence& evidence = *found;
    evidence.judged = true;
    evidence.reasons = verdict.reasons;
    evidence.conditions |= verdict.conditions;
    evidence.after_ns = std::min(verdict.after_ns, kLatestTime);
    evidence.use_stack = verdict.use_stack;
  }
}

// Which waits are needed for the order of GPU work, as far as the judge saw, and for nothing else.
std::vector<bool> only_order(const Judge& judge) {
  std::vector<bool> only(judge.size());
  for (size_t i = 0; i < only.size(); ++i) only[i] = judge.verdict(i).reasons == kOrder;
  return only;
}

}  // namespace

std::vector<bool> ProcessJudge::collect() {
  judge_ = std::make_unique<Judge>(kForgetsAfter, most_looks_);
  unclear_ = interpretation_.replay(*judge_, &unnamed_);
  if (!judge_->polling().empty() && !judge_->gives_up()) {
    polling_ = judge_->polling();
    judge_ = std::make_unique<Judge>(kForgetsAfter, most_looks_);
    GateMarker marked(polling_, *judge_);
    interpretation_.replay(marked);
  }
  gives_up_ = judge_->gives_up();
  if (gives_up_) return {};
  judge_->end();
  return judge_->required_sites();
}

Judgement ProcessJudge::judge(Check check, bool conditions, std::vector<bool>& sites) {
  const std::unique_ptr<Judge> judge = std::move(judge_);
  Judgement judgement;
  judgement.unclear = unclear_;
  for (const PeerAccess& peer : peers_)
    ++(peer.file ? judgement.files : peer.range.empty() ? judgement.devices : judgement.peers);
  if (gives_up_) {
    for (const Thread& thread : process_.threads)
      judgement.too_many += static_cast<uint64_t>(
          std::count_if(thread.operations.begin(), thread.operations.end(),
                        [](const Operation& operation) { return operation.has(kWaited); }));
    return judgement;
  }
  judge->choose(sites);
  judge->note_unnamed(unnamed_);
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
  note_verdicts(*judge, process_);
  if (!conditions) return judgement;
  if (judge->looks() < most_looks_ / kNarrowRounds) note_narrow_waits(*judge);
  if (!reuses_.empty()) judge_with_memory_kept(sites);
  return judgement;
}

void ProcessJudge::note_narrow_waits(const Judge& judge) {
  const Narrow narrow = narrow_waits(
      [this](EventSink& sink) {
        GateMarker marked(polling_, sink);
        interpretation_.replay(marked);
      },
      needed_, only_order(judge));
  const EvidenceOf evidence_of(process_);
  for (size_t i = 0; i < narrow.streams.size(); ++i) {
    const uint8_t less = narrow.streams[i].valid() ? kConditionOneStream
                         : narrow.orders[i]        ? kConditionOnlyOrders
                                                   : 0;
    if (less == 0) continue;
    if (Evidence* evidence = evidence_of(judge.verdict(i).operation)) evidence->conditions |= less;
  }
  for (const NarrowCopy& copy : narrow.copies)
    if (Evidence* evidence = evidence_of(judge.verdict(copy.instance).operation)) evidence->like = copy.like;
}

// What is needless, or needed later only, and would not be if memory were allocated once and used again, says so: the report
// recommends one of the two.
void ProcessJudge::judge_with_memory_kept(std::vector<bool> sites) {
  const Replay replay = [this](EventSink& sink) {
    ReusedMemory kept(reuses_, sink);
    GateMarker marked(polling_, kept);
    interpretation_.replay(marked);
  };
  const EvidenceOf evidence_of(process_);
  Judge judge(kForgetsAfter, most_looks_);
  replay(judge);
  if (judge.gives_up()) {  // any of them may be needed then
    for (Thread& thread : process_.threads)
      for (Evidence& evidence : thread.evidence)
        if (evidence.judged && evidence.reasons == 0) evidence.conditions |= kConditionNewMemory;
    return;
  }
  judge.end();
  judge.choose(sites);
  std::vector<bool> needed = judge.needed();
  for (size_t i = 0; i < needed.size(); ++i) needed[i] = needed[i] || needed_[i];
  withdraw_unsound(replay, needed);
  const Narrow narrow = judge.looks() < most_looks_ / kNarrowRounds
                            ? narrow_waits(replay, needed, only_order(judge))
                            : Narrow{};
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const Verdict kept = judge.verdict(i);
    Evidence* evidence = evidence_of(kept.operation);
    if (!evidence) continue;
    const bool sooner = is_movable(evidence->reasons) && kept.reasons != 0 &&
                        (!is_movable(kept.reasons) || kept.after_ns < evidence->after_ns);
    const bool whole = ((evidence->conditions & kConditionOneStream) != 0 &&
                        (i >= narrow.streams.size() || !narrow.streams[i].valid())) ||
                       ((evidence->conditions & kConditionOnlyOrders) != 0 &&
                        (i >= narrow.orders.size() || !narrow.orders[i]));
    if (!needed_[i] || sooner || whole) evidence->conditions |= kConditionNewMemory;
  }
}

bool ProcessJudge::holds() const {
  if (gives_up_) return true;
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

namespace diogenes {
namespace {

using Judges = std::deque<necessity::ProcessJudge>;  // one for each process; none: by hand

// Of several waits of which one is enough, the same one stays in all processes: it is one program that is changed.
void judge_all(Run& run, Judges& judges, const JudgeOptions& options, const SiteTable& sites) {
  std::vector<bool> required(sites.size());
  for (necessity::ProcessJudge& judge : judges) {
    const std::vector<bool> of_one = judge.collect();
    for (size_t i = 0; i < std::min(of_one.size(), required.size()); ++i)
      required[i] = required[i] || of_one[i];
  }
  for (size_t i = 0; i < run.processes.size(); ++i) {
    Process& process = run.processes[i];
    run.judgement += options.by_hand ? options.by_hand(process, sites, run.peers.to(process.trace->process))
                                     : judges[i].judge(options.check, options.conditions, required);
    for (const ThreadTrace& thread : process.trace->threads) thread.release_pages();
    place_first_uses(process);
  }
}

// Two threads: synchronizations are judged on the one; on the other the rest is loaded, `meanwhile` runs, and
// transfers are judged.
void judge(Run& run, const SiteTable& sites, const JudgeOptions& options) {
  auto judges = std::make_shared<Judges>();  // the check goes on with them
  for (Process& process : run.processes)
    if (!options.by_hand)
      judges->emplace_back(process, sites, run.peers.to(process.trace->process), options.most_looks);
  if (options.by_hand) load_rest(run);  // it may write to what is read here
  std::future<bool> hold;
  auto judged = in_background([&] {
    judge_all(run, *judges, options, sites);
    if (options.by_hand || options.check == necessity::Check::first) return;
    hold = in_background([judges] {
      return std::all_of(judges->begin(), judges->end(),
                         [](const necessity::ProcessJudge& judge) { return judge.holds(); });
    });
  });
  if (!options.by_hand) load_rest(run);
  if (options.meanwhile) options.meanwhile(run);
  for (necessity::ProcessJudge& judge : *judges) judge.judge_transfers();
  judged.get();
  for (necessity::ProcessJudge& judge : *judges) judge.note_transfers();
  run.verdicts_hold = std::move(hold);
}

}  // namespace

Result<Run> load_judged_run(const std::filesystem::path& stage_folder, SiteTable& sites,
                            const JudgeOptions& options) {
  Result<Run> run = load_run(stage_folder, sites, Load::evidence);
  if (run) judge(*run, sites, options);
  return run;
}

}  // namespace diogenes
