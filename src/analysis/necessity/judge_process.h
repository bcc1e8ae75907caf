// Verdicts of one process, from its facts: the interpretation's events through the judges, and what they say
// as the evidence of its operations. In steps, each a replay of the events, so that some can run beside each other.
// In: a process of stage 3 or 4 with its operations, and what its hashes say. Out: its evidence. And so the verdicts of
// a whole run, from its folder.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "analysis/necessity/interpret/interpret.h"
#include "analysis/necessity/judge/polling.h"
#include "analysis/necessity/transfers/dead_transfers.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

// When it is checked that verdicts hold together (judge/check.h). It takes as long as judging, and they nearly always
// do: beside what goes on from them, it costs no time; where they do not hold, that is done again.
enum class Check : uint8_t { first, beside };

class ProcessJudge {
 public:
  // All outlive it. `peers`: what other processes did to its memory.
  ProcessJudge(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers)
      : process_(process), sites_(sites), peers_(peers), interpretation_(process, peers) {}

  // Verdicts on synchronizations. Needs the operations, and room for the evidence. With the check (check.h) first,
  // those that it withdraws become needed; without, holds() is to be asked.
  Judgement judge(Check check);
  // Looks at transfers; needs what the hashes say. May run beside judge().
  void judge_transfers();
  // After both: writes to the evidence what was found of transfers.
  void note_transfers();
  // Does the check withdraw nothing, and leave out nothing? After judge(); it looks at no operation and no evidence.
  bool holds() const;

 private:
  Process& process_;
  const SiteTable& sites_;
  std::span<const PeerAccess> peers_;
  const Interpretation interpretation_;
  Works polling_;
  std::vector<bool> needed_;
  std::unique_ptr<TransferJudge> transfers_;
};

}  // namespace diogenes::necessity

namespace diogenes {

// For tests, in place of the judges: fills in the evidence of a process's operations. `peers`: what other processes did
// to its memory.
using JudgeProcess = Judgement (*)(Process& process, const SiteTable& sites,
                                   std::span<const PeerAccess> peers);
struct JudgeOptions {
  JudgeProcess by_hand = nullptr;  // null: the judges
  // What is done while a run is judged: it may read the run's operations and GPU times, and `sites`.
  std::function<void(const Run&)> meanwhile;
  necessity::Check check = necessity::Check::first;
};

// A run of stage 3 or 4 with its evidence.
Result<Run> load_judged_run(const std::filesystem::path& stage_folder, SiteTable& sites,
                            const JudgeOptions& options = {});

}  // namespace diogenes
