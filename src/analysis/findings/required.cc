#include "analysis/findings/required.h"

#include <algorithm>
#include <utility>

namespace diogenes {
namespace {

constexpr int64_t kLinesOfLeast = 4;  // that are worth a word only together
constexpr uint64_t kMuchUnused = 4;   // of what is brought: a quarter

// All of either, in CPU order. Of changes to one call, which may be in a turn of two lines, that with more time before it.
std::vector<Change> both(const std::vector<Change>& left, const std::vector<Change>& right) {
  std::vector<Change> all;
  all.reserve(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(all), in_cpu_order);
  const auto same = [](const Change& a, const Change& b) {
    return !in_cpu_order(a, b) && !in_cpu_order(b, a);
  };
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (kept == 0 || !same(all[kept - 1], all[i])) {
      all[kept++] = all[i];
      continue;
    }
    const Nanoseconds behind = std::max(all[kept - 1].behind, all[i].behind);
    if (all[i].before > all[kept - 1].before) all[kept - 1] = all[i];
    all[kept - 1].behind = behind;
  }
  all.resize(kept);
  return all;
}

class RequiredFinder {
 public:
  RequiredFinder(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places)
      : RequiredFinder(input, problems, asked_lines(input, problems, places)) {}

  RequiredWaits find(Nanoseconds least, size_t most) {
    const Nanoseconds least_of_one{least.count / kLinesOfLeast};
    std::erase_if(lines_, [&](const AskedLine& line) { return line.most < least_of_one; });
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const AskedLine& a, const AskedLine& b) { return a.most > b.most; });
    if (lines_.size() > most) lines_.resize(most);
    if (lines_.empty()) return {};
    std::vector<Models::Parts> alone;
    for (const AskedLine& line : lines_) alone.push_back({&line.changes});
    Models::Parts fixes;
    for (const Problem& problem : problems_)
      if (!problem.apart) fixes.push_back(&problem.changes);
    const Models paper(in_.graph, nullptr, Model::paper);
    const Models& models = in_.models ? *in_.models : paper;
    const Models::Made fixed = models.make(fixes);
    const std::vector<Figure> figures = models.figures_beyond(fixed, alone);
    for (size_t i = 0; i < lines_.size(); ++i) lines_[i].required.up_to = figures[i];
    add_whole(models, fixed);
    std::erase_if(lines_, [&](const AskedLine& line) {
      const Figure& up_to = line.required.up_to;
      // What is made and sent counts by the line alone: it is more of a guess.
      return most_of(up_to, line) < (line.required.sends ? least : least_of_one) || up_to.benefit.count <= 0;
    });
    std::stable_sort(lines_.begin(), lines_.end(), [](const AskedLine& a, const AskedLine& b) {
      return a.required.up_to.benefit > b.required.up_to.benefit;
    });
    add_unused(models, fixed);
    RequiredWaits result;
    size_t waiting = 0;
    std::vector<Change> waits_alone, as_worded, whole;
    for (const AskedLine& line : lines_) {
      if (line.required.sends) continue;
      if (waiting == 0) result.together = line.required.up_to;
      as_worded = both(as_worded, line.required.worded_whole() ? line.whole : line.changes);
      waits_alone = both(waits_alone, line.changes);
      ++waiting;
      whole = both(whole, line.required.whole() ? line.whole : line.changes);
    }
    if (waiting > 1) {
      const Figure most_of_one = result.together;  // lines come by their gain
      const std::vector<Figure> together =
          models.figures_beyond(fixed, {{&as_worded}, {&whole}, {&waits_alone}});
      result.together = together[0];
      // Who takes one line alone gains what it costs, whatever the others then wait for.
      if (result.together.benefit < most_of_one.benefit) result.together = most_of_one;
      result.together.high = std::max({result.together.high, together[0].high, together[1].benefit});
      result.together.low = std::min(result.together.low, together[2].low);
      for (const AskedLine& line : lines_)
        if (!line.required.sends)
          result.together.high = std::max(result.together.high, line.required.up_to.high);
    }
    if (std::none_of(lines_.begin(), lines_.end(), [&](const AskedLine& line) {
          return std::max(most_of(line.required.up_to, line), most_of(result.together, line)) >= least;
        }))
      return {};
    for (AskedLine& line : lines_) {
      describe(line);
      result.found.push_back(std::move(line.required));
    }
    return result;
  }

 private:
  RequiredFinder(const ProblemInput& input, const std::vector<Problem>& problems, AskedLines asked)
      : in_(input), problems_(problems), waits_(std::move(asked.waits)), lines_(std::move(asked.lines)) {}

  static Nanoseconds most_of(const Figure& figure, const AskedLine& line) {
    return line.required.whole() ? figure.high : figure.benefit;
  }

  // With what goes at most.
  void add_whole(const Models& models, const Models::Made& fixed) {
    std::vector<AskedLine*> those;
    std::vector<Models::Parts> whole;
    for (AskedLine& line : lines_) {
      if (!line.required.whole()) continue;
      those.push_back(&line);
      whole.push_back({&line.whole});
    }
    const std::vector<Figure> figures = models.figures_beyond(fixed, whole);
    for (size_t i = 0; i < those.size(); ++i) {
      Figure& up_to = those[i]->required.up_to;
      those[i]->required.at_most = figures[i].benefit;
      up_to.high = std::max(up_to.high, figures[i].benefit);
      if (!those[i]->required.worded_whole() || figures[i].benefit < up_to.benefit) continue;
      those[i]->required.waits_gain = up_to.benefit;
      up_to.benefit = figures[i].benefit;
    }
  }

  // Of which a quarter or more is never looked at: what it gains to bring the rest alone.
  void add_unused(const Models& models, const Models::Made& fixed) {
    for (AskedLine& line : lines_) {
      Required& required = line.required;
      if (required.unused.count == 0 || kMuchUnused * required.unused.count < required.bytes.count) {
        required.unused = {};
        continue;
      }
      std::sort(line.in_part.begin(), line.in_part.end());
      required.without_unused = models.shorter_beyond(fixed, [&](uint32_t p, uint32_t t, uint32_t i) {
        const Operation& operation = in_.tracing.processes[p].threads[t].operations[i];
        if (operation.unused_percent == 0 || operation.gpu.count <= 0 ||
            !std::binary_search(line.in_part.begin(), line.in_part.end(), AskedLine::Copy{p, t, i}))
          return Nanoseconds{};
        return Nanoseconds{operation.gpu.count / 100 * operation.unused_percent};
      });
    }
  }

  void describe(AskedLine& line) const {
    Required& required = line.required;
    for (const auto& [call, count] : line.calls) required.calls.push_back({call.first, count, call.second});
    std::sort(required.calls.begin(), required.calls.end(),
              [&](const RequiredCall& a, const RequiredCall& b) {
                if (a.waits != b.waits) return a.waits;
                return a.count != b.count ? a.count > b.count : in_.sites[a.site].key < in_.sites[b.site].key;
              });
    required.site = required.calls.front().site;
    if (required.sends) required.instances = required.count;
    for (const RequiredCall& call : required.calls) {
      if (!call.waits) continue;
      required.instances += waits_[call.site.value];
      if (call.site.value >= in_.verdicts.size()) continue;
      for (const auto& use : in_.verdicts[call.site.value].uses) {
        const auto known = std::find_if(required.uses.begin(), required.uses.end(),
                                        [&](const auto& other) { return other.first == use.first; });
        if (known == required.uses.end())
          required.uses.push_back(use);
        else
          known->second += use.second;
      }
    }
    std::stable_sort(required.uses.begin(), required.uses.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (line.after.empty()) return;
    const auto middle = line.after.begin() + static_cast<ptrdiff_t>(line.after.size() / 2);
    std::nth_element(line.after.begin(), middle, line.after.end());
    required.after = Nanoseconds{*middle};
  }

  const ProblemInput& in_;
  const std::vector<Problem>& problems_;
  const std::vector<uint64_t> waits_;  // by site
  std::vector<AskedLine> lines_;
};

}  // namespace

RequiredWaits find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                            const Lines& lines, Nanoseconds least, size_t most) {
  return RequiredFinder(input, problems, lines).find(least, most);
}

}  // namespace diogenes
