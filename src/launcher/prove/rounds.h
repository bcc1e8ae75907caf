// Pairs of runs: the program as it is, hooked with nothing corrected, and with each correction.
#pragma once
#include <string>
#include <vector>

#include "launcher/prove/choice.h"
#include "launcher/prove/trial.h"

namespace diogenes::launcher {

// The runs of a pair.
struct Round {
  TrialRun as_it_is, hooked;        // hooked: as the corrected ones, and nothing corrected
  std::vector<TrialRun> corrected;  // by correction
};

// A correction with which the program did not end. That says nothing of the findings: correcting keeps more order than the
// waits gave, so parts of the program that wait for each other by way of the GPU may wait for ever.
struct WithoutEnd {
  Correction correction;
  double after_s = 0;  // when it was ended
};

class Rounds {
 public:
  // `timeout_s`: of a run; 0: as long as seems enough by the session's first run, which took `first_s`.
  Rounds(Trial& trial, std::vector<Correction> corrections, double timeout_s, double first_s)
      : trial_(trial), corrections_(std::move(corrections)), timeout_s_(timeout_s), first_s_(first_s) {}

  // False: said why, or interrupted; no further ones. So it is where a run with nothing corrected does not end. A corrected run
  // that does not end is made again with waits left as they are once the program has several threads; if it does not end then,
  // the correction is given up, in all rounds.
  bool make_one(const std::string& heading);

  int count() const { return static_cast<int>(rounds_.size()); }
  const std::vector<Round>& rounds() const { return rounds_; }
  const std::vector<Correction>& corrections() const { return corrections_; }  // without those given up
  const std::vector<WithoutEnd>& without_end() const { return without_end_; }

 private:
  Result<TrialRun> run(const std::string& heading, const std::string& name, const Correction* correction,
                       double limit_s) const;
  double limit_s(const Round& round) const;  // of a corrected run
  Result<TrialRun> run_corrected(const std::string& heading, const std::vector<CorrectedSite>& places,
                                 Correction& correction, const Round& round);
  void give_up_what_does_not_end();

  Trial& trial_;
  std::vector<Correction> corrections_;
  double timeout_s_, first_s_;
  std::vector<Round> rounds_;
  std::vector<WithoutEnd> without_end_;
};

}  // namespace diogenes::launcher
