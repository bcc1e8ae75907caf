#include "analysis/necessity/judge_process.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "analysis/necessity/interpret/record_cursor.h"
#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/judge/judge.h"
#include "analysis/runs/first_uses.h"
#include "analysis/runs/in_background.h"

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
  for (const PeerAccess& peer : peers_)
    ++(peer.file ? judgement.files : peer.range.empty() ? judgement.devices : judgement.peers);
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

namespace diogenes {
namespace {

using Judges = std::deque<necessity::ProcessJudge>;  // one for each process; none: by hand

void judge_all(Run& run, Judges& judges, const JudgeOptions& options, const SiteTable& sites) {
  for (size_t i = 0; i < run.processes.size(); ++i) {
    Process& process = run.processes[i];
    run.judgement += options.by_hand ? options.by_hand(process, sites, run.peers.to(process.trace->process))
                                     : judges[i].judge(options.check);
    for (const ThreadTrace& thread : process.trace->threads) thread.release_pages();
    place_first_uses(process);
  }
}

// Two threads: synchronizations are judged on the one; on the other the rest is loaded, `meanwhile` runs, and
// transfers are judged.
void judge(Run& run, const SiteTable& sites, const JudgeOptions& options) {
  auto judges = std::make_shared<Judges>();  // the check goes on with them
  for (Process& process : run.processes)
    if (!options.by_hand) judges->emplace_back(process, sites, run.peers.to(process.trace->process));
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
