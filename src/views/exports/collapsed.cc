// Folded stacks for flame-graph tools (flamegraph.pl, speedscope, inferno): a line a problem, frames from the outside
// in, `;` between them, what the problem is as the last one, and behind it the microseconds that fixing it alone saves.
// In: a report. Out: the whole file. Problems that save nothing have no line. Savings of different problems may
// overlap, so the sum may be more than all fixes together save.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/exports/exports.h"
#include "views/exports/stacks.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"

namespace diogenes {
std::vector<std::string> flame_frames(const ReportProblem& problem) {
  std::vector<std::string> words;
  // What calls main is the same for all, and tells nothing.
  auto main = std::find_if(problem.stack.begin(), problem.stack.end(),
                           [](const ReportFrame& frame) { return frame.function == "main"; });
  const auto outermost = main == problem.stack.end() ? problem.stack.size()
                                                     : static_cast<size_t>(main - problem.stack.begin()) + 1;
  for (size_t i = outermost; i-- > 0;) words.push_back(frame_words(problem.stack[i]));
  words.push_back(finding_phrase({nullptr, {&problem}}));
  return words;
}

std::string to_collapsed(const Report& report) {
  std::string text;
  for (const ReportProblem& problem : report.problems) {
    const double gain = problem.expected_benefit_s * 1e6;
    if (!std::isfinite(gain) || gain < 0.5) continue;
    std::string line;
    for (const std::string& words : flame_frames(problem))
      line += (line.empty() ? "" : ";") + one_frame(words);
    text += fmt::format("{} {}\n", line, std::llround(gain));
  }
  return text;
}

}  // namespace diogenes
