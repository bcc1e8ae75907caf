#include "launcher/prove/rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/command_line/messages.h"
#include "views/shared/figures.h"

namespace diogenes::launcher {

namespace {

bool same_place(const CorrectedSite& a, const CorrectedSite& b) {
  return a.key == b.key && a.function == b.function;
}

// All places of these corrections, left as they are: hooked as in a corrected run, and timed from the same call on.
std::vector<CorrectedSite> only_timed(const std::vector<Correction>& corrections) {
  std::vector<CorrectedSite> all;
  for (const Correction& one : corrections)
    for (const CorrectedSite& site : one.sites)
      if (all.size() < kMostCorrectedSites &&
          std::none_of(all.begin(), all.end(),
                       [&](const CorrectedSite& known) { return same_place(known, site); }))
        all.push_back({site.key, site.function, kOnlyTimed});
  return all;
}

// `one`, with the places of the others only timed.
Correction among(std::vector<CorrectedSite> all, const Correction& one) {
  for (CorrectedSite& place : all)
    for (const CorrectedSite& site : one.sites)
      if (same_place(place, site)) place.how = site.how;
  Correction result = one;
  result.sites = std::move(all);
  return result;
}

// False: said that it did not, so nothing can be held against it.
bool came_to_an_end(const TrialRun& run, const char* how) {
  if (run.timed_out)
    say(fmt::format("{}, the program did not end within {}, and was ended; --timeout allows more", how,
                    seconds_text(run.runtime_s)));
  return !run.timed_out;
}

}  // namespace

Result<TrialRun> Rounds::run(const std::string& heading, const std::string& name,
                             const Correction* correction, double limit_s) const {
  Progress progress;
  progress.begin(heading, name, false);
  Result<TrialRun> run = trial_.run(correction, limit_s);
  progress.end(!run ? "failed" : run->timed_out ? "ended" : seconds_text(run->runtime_s));
  if (!run) say(fmt::format("{}: {}", name, run.error().c_str()));
  return run;
}

double Rounds::limit_s(const Round& round) const {
  return timeout_s_ > 0 ? timeout_s_ : 5 * std::max(round.as_it_is.runtime_s, round.hooked.runtime_s) + 30;
}

Result<TrialRun> Rounds::run_corrected(const std::string& heading, const std::vector<CorrectedSite>& places,
                                       Correction& correction, const Round& round) {
  const std::string id = correction.id.empty() ? "all" : correction.id;
  for (;;) {
    const Correction corrected = among(places, correction);
    Result<TrialRun> made = run(heading, "corrected: " + id, &corrected, limit_s(round));
    if (!made || !made->timed_out || correction.leaves_threads) return made;
    correction.leaves_threads = true;
    say(fmt::format(
        "{}: corrected, the program did not end within {}; from here on, its waits are left as they are once it has "
        "several threads, or handlers of signals",
        id, seconds_text(made->runtime_s)));
  }
}

void Rounds::give_up_what_does_not_end() {
  for (size_t i = corrections_.size(); i-- > 0;) {
    const TrialRun& last = rounds_.back().corrected[i];
    if (!last.timed_out) continue;
    without_end_.push_back({std::move(corrections_[i]), last.runtime_s});
    const auto at = static_cast<std::ptrdiff_t>(i);
    corrections_.erase(corrections_.begin() + at);
    for (Round& round : rounds_) round.corrected.erase(round.corrected.begin() + at);
  }
}

bool Rounds::make_one(const std::string& heading) {
  Round round;
  const double enough_s = timeout_s_ > 0 ? timeout_s_ : 20 * first_s_ + 60;
  Result<TrialRun> as_it_is = run(heading, "as it is", nullptr, enough_s);
  if (!as_it_is || !came_to_an_end(*as_it_is, "as it is")) return false;
  round.as_it_is = std::move(*as_it_is);
  const std::vector<CorrectedSite> places = only_timed(corrections_);
  const Correction none = among(places, {});
  Result<TrialRun> hooked = run(heading, "hooked, nothing corrected", &none, enough_s);
  if (!hooked || !came_to_an_end(*hooked, "with Diogenes' hooks, and nothing corrected")) return false;
  round.hooked = std::move(*hooked);
  for (Correction& one : corrections_) {
    Result<TrialRun> corrected = run_corrected(heading, places, one, round);
    if (!corrected) return false;
    round.corrected.push_back(std::move(*corrected));
  }
  rounds_.push_back(std::move(round));
  give_up_what_does_not_end();
  return true;
}

}  // namespace diogenes::launcher
