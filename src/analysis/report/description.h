// What was found, as the report says it: names, places, percentages, words. In: problems, groups, needed waits with
// their sites. Out: entries of the report, in the order in which they are added.
#pragma once
#include "analysis/findings/followed_values.h"
#include "analysis/findings/groupings.h"
#include "analysis/findings/required.h"
#include "analysis/symbols/stack_names.h"

namespace diogenes {

class Description {
 public:
  // All must outlive it. The report has its run time already.
  Description(Report& report, StackNames& names, SourceLines& source, const SiteTable& sites,
              const Run& tracing, const EventGraph& graph, const std::vector<FollowedValues>& followed)
      : report_(report),
        names_(names),
        source_(source),
        sites_(sites),
        tracing_(tracing),
        graph_(graph),
        followed_(followed) {}

  void add(const Problem& problem);
  void add(const Group& group);
  void add(const Required& required, const std::vector<BroughtValues>& brought);
  void add_together(const Figure& figure);
  void add_required_together(const Figure& figure);
  static ReportTogether together(const Figure& figure, double whole_s);

  // One for each file of the application that has no lines where problems are.
  void add_line_notices();

 private:
  const std::vector<ReportFrame>& most_frequent(const std::vector<std::pair<StackPlace, uint64_t>>& places);
  double percent(Nanoseconds benefit) const;
  std::vector<ReportOccurrence> occurrences(const std::map<uint32_t, uint64_t>& by_thread) const;
  // `count`: calls that wait; `after`: from their end to the first use; `most`: what they could gain at all.
  std::optional<ReportValue> value_of(SiteIndex site, uint64_t count, std::optional<Nanoseconds> after,
                                      Nanoseconds most);

  Report& report_;
  StackNames& names_;
  SourceLines& source_;
  const SiteTable& sites_;
  const Run& tracing_;
  const EventGraph& graph_;
  const std::vector<FollowedValues>& followed_;
};

}  // namespace diogenes
