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
#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/judge/reused_memory.h"
#include "analysis/necessity/transfers/dead_transfers.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

// When it is checked that verdicts hold together (judge/check.h). It takes as long as judging, and they nearly always
// do: beside what goes on from them, it costs no time; where they do not hold, that is done again.
enum class Check : uint8_t { first, beside };

class ProcessJudge {
 public:
  // All outlive it. `peers`: what other processes did to its memory.
  ProcessJudge(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers,
               uint64_t most_looks = kMostLooks)
      : process_(process),
        sites_(sites),
        peers_(peers),
        most_looks_(most_looks),
        interpretation_(process, peers),
        reuses_(process) {}

  // Verdicts on synchronizations, in two steps. Needs the operations, and room for the evidence.
  // First, of each process: what its data asks for. Out: by site, whether a wait has to stay there.
  std::vector<bool> collect();
  // Then the choice among waits of which one is enough: at `sites`, where one stays in this or another process. Gets those that
  // are chosen. With the check (check.h) first, those that it withdraws become needed; without, holds() is to be asked.
  // `conditions`: notes of each what less would do, and which memory must stay.
  Judgement judge(Check check, bool conditions, std::vector<bool>& sites);
  // Looks at transfers; needs what the hashes say. May run beside judge().
  void judge_transfers();
  // After both: writes to the evidence what was found of transfers.
  void note_transfers();
  // Does the check withdraw nothing, and leave out nothing? After judge(); it looks at no operation and no evidence.
  bool holds() const;

 private:
  void note_narrow_waits(const Judge& judge);
  void judge_with_memory_kept(std::vector<bool> sites);  // where a wait stays
  Process& process_;
  const SiteTable& sites_;
  std::span<const PeerAccess> peers_;
  const uint64_t most_looks_;
  bool gives_up_ = false;  // judging it would take too long (judge.h)
  const Interpretation interpretation_;
  Works polling_;
  std::unique_ptr<Judge> judge_;  // between the two
  std::vector<UnnamedMemory::Span> unnamed_;
  Unclear unclear_;
  std::vector<bool> needed_;
  const Reuses reuses_;
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
  bool conditions = true;                       // is it asked what less would do, and which memory must stay?
  uint64_t most_looks = necessity::kMostLooks;  // for each process
};

// A run of stage 3 or 4 with its evidence.
Result<Run> load_judged_run(const std::filesystem::path& stage_folder, SiteTable& sites,
                            const JudgeOptions& options = {});

}  // namespace diogenes
