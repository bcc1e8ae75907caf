// Problems that one fix would mend together. Source: SC'19, section 3.5.2, Figures 6 and 7. In: problems, the
// joined run, its graph, names. Out: groups with the benefit of all members, estimated together on one fresh
// graph, never summed.
//   single-point      the same stack by instruction address;
//   caller            the same line of the application, whatever the libraries below do: one call to change;
//   folded-function   the same API ('Fold on cudaFree'), and below it the same stack by base function names,
//                     template arguments dropped ('Fold on cudaFree in f');
//   sequence          problems that follow each other in a thread, up to a synchronization that is needed;
//   subsequence       a part of a sequence, from one of its entries to another. Chosen are those which gain the
//                     most for the fewest places to change: of each number of places the best part, where it
//                     gains notably more than any part of fewer. Others are estimated when asked for.
// Departure: a sequence is the set of problems of a loop's body, not one occurrence of it: occurrences with
// the same problems are one sequence, and one whose problems are part of another's belongs to that.
#pragma once
#include "analysis/findings/problems.h"
#include "analysis/symbols/stack_names.h"

namespace diogenes {

struct Group {
  enum class Grouping : uint8_t { single_point, caller, folded_function, sequence, subsequence } grouping{};
  std::string title;
  std::vector<uint32_t>
      members;  // positions in Problems::found, ascending; of a (sub)sequence: in order of the program
  Nanoseconds benefit;
  Figure figure;
  uint64_t synchronization_issues = 0, transfer_issues = 0;
};
const char* grouping_name(Group::Grouping grouping);

struct GroupingInput {
  const Run& tracing;
  const SiteTable& sites;
  const EventGraph& graph;
  const std::vector<Problem>& problems;
  const Models* models = nullptr;  // null: the model `paper`
};

// The benefit of any problems fixed together.
Figure together(const GroupingInput& input, const std::vector<uint32_t>& members);
// The same of each of several sets.
std::vector<Figure> together(const GroupingInput& input, const std::vector<std::vector<uint32_t>>& of);

// Entries `first` to `last` of a sequence, counted from 1 as in the report; both are in it.
Group subsequence(const GroupingInput& input, StackNames& names, const Group& sequence, size_t first,
                  size_t last);

// Largest benefit first; of equal ones, fewer members first.
std::vector<Group> find_groups(const GroupingInput& input, StackNames& names);

}  // namespace diogenes
