#include "analysis/report/callers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/symbols/frame_owner.h"
#include "analysis/symbols/wording.h"

namespace diogenes {
namespace {

constexpr size_t kCallersNamed = 2;

// The frames of the application, the line to act on first.
std::vector<const ReportFrame*> own_frames(const std::vector<ReportFrame>& stack) {
  std::vector<const ReportFrame*> frames;
  for (const ReportFrame& frame : stack)
    if (frame.owner == FrameOwner::application && frame.line > 0) frames.push_back(&frame);
  return frames;
}

bool same(const ReportFrame& a, const ReportFrame& b) { return a.line == b.line && a.file == b.file; }

// Where the two part, from that line outwards: the frames that call what they have in common; null where they do not, or
// where they have no line in common.
std::pair<const ReportFrame*, const ReportFrame*> parting(const std::vector<ReportFrame>& one,
                                                          const std::vector<ReportFrame>& other) {
  const auto a = own_frames(one), b = own_frames(other);
  size_t i = 0;
  while (i < a.size() && i < b.size() && same(*a[i], *b[i])) ++i;
  if (i == 0 || i == a.size() || i == b.size()) return {};
  return {a[i], b[i]};
}

}  // namespace

void tell_callers_apart(std::vector<ReportProblem>& problems,
                        const std::vector<std::vector<ReportFrame>>& needed) {
  for (ReportProblem& problem : problems) {
    if (problem.kind != "unnecessary-synchronization") continue;
    std::vector<std::string> others;
    std::string here;
    for (const std::vector<ReportFrame>& stack : needed) {
      const auto [caller, other] = parting(problem.stack, stack);
      if (!caller) continue;
      if (here.empty()) here = place_of({*caller});
      std::string place = place_of({*other});
      if (std::find(others.begin(), others.end(), place) == others.end()) others.push_back(std::move(place));
    }
    if (others.empty()) continue;
    std::sort(others.begin(), others.end());
    std::string from = others[0];
    if (others.size() == kCallersNamed) from += " and " + others[1];
    if (others.size() > kCallersNamed) from += " and " + std::to_string(others.size() - 1) + " more places";
    problem.conditions.push_back({"callers", "only where the call comes from " + here + ": what comes from " +
                                                 from + " needs the wait"});
  }
}

}  // namespace diogenes
