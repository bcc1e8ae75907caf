#include "analysis/findings/groupings.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/symbols/mixed_stack.h"
#include "analysis/symbols/wording.h"

namespace diogenes {
namespace {

constexpr size_t kMostSequences = 64;
constexpr size_t kSequencesToDivide = 3, kMostParts = 3, kMostTried = 60;
constexpr size_t kMostReplayed = 5'000'000;  // operations, for one sequence

using Members = std::vector<uint32_t>;

// Without its figure.
Group make_group(const GroupingInput& in, Group::Grouping grouping, std::string title, Members members) {
  Group group{grouping, std::move(title), std::move(members), {}, {}, 0, 0};
  for (uint32_t member : group.members) {
    group.synchronization_issues += in.problems[member].synchronization_issue();
    group.transfer_issues += in.problems[member].transfer_issue();
  }
  return group;
}

void add_figures(const GroupingInput& in, std::vector<Group>& groups) {
  std::vector<Members> members;
  for (const Group& group : groups) members.push_back(group.members);
  std::vector<Figure> figures = together(in, members);
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].figure = std::move(figures[i]);
    groups[i].benefit = groups[i].figure.benefit;
  }
}

// The stack by module identity and offset: as in every run, without the driver function at its end.
SiteKey stack_key(const ProcessTrace& process, uint32_t stack) {
  SiteKeyBuilder builder("");
  add_stack(builder, process, stack);
  return builder.key();
}

void single_points(const GroupingInput& in, StackNames& names, std::vector<Group>& groups) {
  std::map<SiteKey, Members> by_stack;
  for (uint32_t i = 0; i < in.problems.size(); ++i) {
    StackPlace place = in.sites[in.problems[i].site].place;
    if (!in.problems[i].apart && place.stack != kNoStack)
      by_stack[stack_key(*place.process, place.stack)].push_back(i);
  }
  for (auto& [key, members] : by_stack) {
    const Site& site = in.sites[in.problems[members[0]].site];
    std::string title = names.called(site) + " in " + place_in_title(names.stack(site.place));
    groups.push_back(make_group(in, Group::Grouping::single_point, title, members));
  }
}

// The frames' base names from where the API was called, outwards; inlined frames count. A frame without a
// name stands for itself by its place.
std::string folded_stack(const std::vector<ReportFrame>& stack) {
  std::string folded;
  for (const ReportFrame& frame : stack) {
    folded += frame.function.empty() ? frame.module + "+" + std::to_string(frame.offset) : base_name(frame);
    folded += '\n';
  }
  return folded;
}

// Problems of one place in the application.
void callers(const GroupingInput& in, StackNames& names, std::vector<Group>& groups) {
  std::map<ActingPlace, Members> by_place;
  for (uint32_t i = 0; i < in.problems.size(); ++i) {
    if (in.problems[i].apart) continue;
    if (auto place = acting_place(names.stack(in.sites[in.problems[i].site].place)))
      by_place[*place].push_back(i);
  }
  for (auto& [place, members] : by_place) {
    std::set<SiteKey> stacks;  // several problems of one stack are its single point
    std::set<std::string> called;
    for (uint32_t member : members) {
      const Site& site = in.sites[in.problems[member].site];
      stacks.insert(stack_key(*site.place.process, site.place.stack));
      const std::string library = called_library(names.stack(site.place));
      called.insert(library.empty() ? names.called(site) : library);
    }
    if (stacks.size() < 2) continue;
    const std::string what = called.size() == 1 ? *called.begin() : std::to_string(called.size()) + " calls";
    const std::string where = place_in_title(names.stack(in.sites[in.problems[members[0]].site].place));
    groups.push_back(make_group(in, Group::Grouping::caller, what + " in " + where, members));
  }
}

void folded_functions(const GroupingInput& in, StackNames& names, std::vector<Group>& groups) {
  std::map<std::string, Members> by_api;
  std::map<std::pair<std::string, std::string>, Members> by_stack;
  for (uint32_t i = 0; i < in.problems.size(); ++i) {
    const Site& site = in.sites[in.problems[i].site];
    std::string called = names.called(site);
    if (in.problems[i].apart) continue;
    by_api[called].push_back(i);
    if (site.place.stack != kNoStack) by_stack[{called, folded_stack(names.stack(site.place))}].push_back(i);
  }
  for (auto& [api, members] : by_api)
    groups.push_back(make_group(in, Group::Grouping::folded_function, "Fold on " + api, members));
  for (auto& [key, members] : by_stack) {
    std::set<SiteIndex> places;  // several problems of one place are its single point
    for (uint32_t member : members) places.insert(in.problems[member].site);
    if (places.size() < 2 || members.size() == by_api[key.first].size()) continue;
    const ReportFrame* frame = acting_frame(names.stack(in.sites[in.problems[members[0]].site].place));
    if (!frame || frame->function.empty()) continue;
    groups.push_back(make_group(in, Group::Grouping::folded_function,
                                "Fold on " + key.first + " in " + base_name(*frame), members));
  }
}

// Walks every thread once and gathers which problems follow each other without a needed synchronization
// between them.
class SequenceFinder {
 public:
  explicit SequenceFinder(const GroupingInput& input) : in_(input), last_run_(input.problems.size(), 0) {}

  std::vector<Members> find() {
    for (uint32_t t = 0; t < in_.graph.threads.size(); ++t) walk(t);
    return maximal();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX, kApart = kNone - 1;
  void walk(uint32_t t) {
    auto [p, thread] = in_.graph.origin[t];
    const auto& operations = in_.tracing.processes[p].threads[thread].operations;
    std::vector<uint32_t> problem_at(operations.size(), kNone);
    for (uint32_t i = 0; i < in_.problems.size(); ++i) {
      const auto& changes = in_.problems[i].changes;
      auto first =
          std::lower_bound(changes.begin(), changes.end(), t,
                           [](const Change& change, uint32_t value) { return change.thread < value; });
      // These are needed: they end a sequence.
      if (in_.problems[i].kind == ProblemKind::misplaced_synchronization ||
          is_less_kind(in_.problems[i].kind))
        continue;
      for (; first != changes.end() && first->thread == t; ++first)
        problem_at[first->operation] = in_.problems[i].apart ? kApart : i;
    }
    begin();
    for (uint32_t i = 0; i < operations.size(); ++i) {
      const bool stays = problem_at[i] == kApart || (problem_at[i] == kNone && operations[i].reasons != 0);
      if (stays && is_wait(operations[i]) && !operations[i].has(kDriverThread))
        end();
      else if (problem_at[i] < kApart)
        add(problem_at[i]);
    }
    end();
  }

  void begin() {
    ++run_;
    current_.clear();
  }
  void add(uint32_t problem) {
    if (last_run_[problem] == run_) return;
    last_run_[problem] = run_;
    current_.push_back(problem);
  }
  void end() {
    if (current_.size() >= 2) {
      Members sorted = current_;
      std::sort(sorted.begin(), sorted.end());
      found_.try_emplace(sorted, current_);
    }
    begin();
  }

  // Without those that are part of another; the largest first.
  std::vector<Members> maximal() const {
    std::vector<const std::pair<const Members, Members>*> sets;
    for (const auto& set : found_) sets.push_back(&set);
    std::stable_sort(sets.begin(), sets.end(),
                     [](auto* a, auto* b) { return a->first.size() > b->first.size(); });
    std::vector<const Members*> kept;
    std::vector<Members> result;
    for (const auto* set : sets) {
      if (kept.size() == kMostSequences) break;
      bool part = std::any_of(kept.begin(), kept.end(), [&](const Members* other) {
        return std::includes(other->begin(), other->end(), set->first.begin(), set->first.end());
      });
      if (part) continue;
      kept.push_back(&set->first);
      result.push_back(set->second);
    }
    return result;
  }

  const GroupingInput& in_;
  std::map<Members, Members> found_;  // sorted members: members in order of the program
  std::vector<uint64_t> last_run_;    // by problem: the run in which it was added last
  uint64_t run_ = 0;
  Members current_;
};

std::string between(const GroupingInput& in, StackNames& names, const Members& members) {
  const Site& first = in.sites[in.problems[members.front()].site];
  const Site& last = in.sites[in.problems[members.back()].site];
  return "from " + names.called(first) + " in " + place_in_title(names.stack(first.place)) + " to " +
         names.called(last) + " in " + place_in_title(names.stack(last.place));
}

// Of a sequence: the best part of each length, where it gains more than the shorter ones. Every part is tried
// up to `most_tried`; of longer sequences those which begin or end with the sequence.
void best_parts(const GroupingInput& in, StackNames& names, const Group& sequence, size_t most_tried,
                std::vector<Group>& groups) {
  const Members& all = sequence.members;
  size_t count = all.size(), tried = 0;
  if (count < 3 || sequence.benefit.count <= 0) return;
  bool every = count * (count + 1) / 2 <= most_tried;
  Nanoseconds so_far{};
  for (uint32_t member : all) so_far = std::max(so_far, in.problems[member].figure.benefit);
  size_t chosen = 0;
  for (size_t length = 2; length < count && chosen < kMostParts && tried < most_tried; ++length) {
    std::vector<size_t> firsts;
    std::vector<Members> parts;
    for (size_t first = 0; first + length <= count; ++first) {
      if (!every && first != 0 && first + length != count) continue;
      ++tried;
      firsts.push_back(first);
      parts.emplace_back(all.begin() + static_cast<ptrdiff_t>(first),
                         all.begin() + static_cast<ptrdiff_t>(first + length));
    }
    const std::vector<Figure> figures = together(in, parts);
    std::optional<size_t> best;
    Nanoseconds gain{};
    for (size_t i = 0; i < parts.size(); ++i) {
      if (best && figures[i].benefit <= gain) continue;
      best = firsts[i];
      gain = figures[i].benefit;
    }
    // A twentieth of what the whole sequence gains is worth another place.
    if (!best || 20 * (gain - so_far).count < sequence.benefit.count) continue;
    so_far = gain;
    ++chosen;
    groups.push_back(subsequence(in, names, sequence, *best + 1, *best + length));
    // The rest of the sequence adds nothing worth a place.
    if (20 * (sequence.benefit - gain).count < sequence.benefit.count) return;
  }
}

void sequences(const GroupingInput& in, StackNames& names, std::vector<Group>& groups) {
  std::vector<Group> found;
  for (Members& members : SequenceFinder(in).find()) {
    std::string title = "Sequence " + between(in, names, members);
    found.push_back(make_group(in, Group::Grouping::sequence, title, std::move(members)));
  }
  add_figures(in, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Group& a, const Group& b) { return a.benefit > b.benefit; });
  // Each try replays the run: as many as that takes a second or so for.
  size_t operations = 1;
  for (const Process& process : in.tracing.processes)
    for (const Thread& thread : process.threads) operations += thread.operations.size();
  size_t most_tried = std::min(kMostTried, kMostReplayed / operations);
  std::vector<Group> parts;
  for (size_t i = 0; i < std::min(found.size(), kSequencesToDivide); ++i)
    best_parts(in, names, found[i], most_tried, parts);
  // The same problems may be parts of several sequences.
  for (Group& part : parts) {
    auto same = [&](const Group& other) { return other.members == part.members; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(part));
  }
  std::move(found.begin(), found.end(), std::back_inserter(groups));
}

}  // namespace

Figure together(const GroupingInput& input, const std::vector<uint32_t>& members) {
  return together(input, std::vector<Members>{members}).front();
}

std::vector<Figure> together(const GroupingInput& input, const std::vector<std::vector<uint32_t>>& of) {
  std::vector<Figure> figures(of.size());
  std::vector<size_t> several;  // one alone has its figure
  std::vector<Models::Parts> parts;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i].size() == 1) {
      figures[i] = input.problems[of[i][0]].figure;
      continue;
    }
    several.push_back(i);
    Models::Parts& changes = parts.emplace_back();
    for (uint32_t member : of[i]) changes.push_back(&input.problems[member].changes);
  }
  const Models paper(input.graph, nullptr, Model::paper);
  std::vector<Figure> found = (input.models ? *input.models : paper).figures(parts);
  for (size_t i = 0; i < several.size(); ++i) figures[several[i]] = std::move(found[i]);
  return figures;
}

Group subsequence(const GroupingInput& input, StackNames& names, const Group& sequence, size_t first,
                  size_t last) {
  Members part(sequence.members.begin() + static_cast<ptrdiff_t>(first - 1),
               sequence.members.begin() + static_cast<ptrdiff_t>(last));
  std::string title = "Part " + std::to_string(first) + " to " + std::to_string(last) + " of " +
                      std::to_string(sequence.members.size()) + ", " + between(input, names, part);
  Group group = make_group(input, Group::Grouping::subsequence, title, std::move(part));
  group.figure = together(input, group.members);
  group.benefit = group.figure.benefit;
  return group;
}

const char* grouping_name(Group::Grouping grouping) {
  switch (grouping) {
    case Group::Grouping::single_point:
      return "single-point";
    case Group::Grouping::caller:
      return "caller";
    case Group::Grouping::folded_function:
      return "folded-function";
    case Group::Grouping::sequence:
      return "sequence";
    case Group::Grouping::subsequence:
      return "subsequence";
  }
  return "unknown";
}

std::vector<Group> find_groups(const GroupingInput& input, StackNames& names) {
  std::vector<Group> groups;
  single_points(input, names, groups);
  callers(input, names, groups);
  folded_functions(input, names, groups);
  add_figures(input, groups);
  sequences(input, names, groups);
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.benefit != b.benefit ? a.benefit > b.benefit : a.members.size() < b.members.size();
  });
  return groups;
}

}  // namespace diogenes
