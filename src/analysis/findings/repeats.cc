#include "analysis/findings/repeats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace diogenes {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The figures of one problem, group or of all together, run by run.
class Figures {
 public:
  void add(double benefit_s, const ReportRange& range) {
    benefits_.push_back(benefit_s);
    ranges_.push_back(range);
  }
  void add_none() { add(0, {}); }

  void unite(double& benefit_s, double& percent, ReportRange& range, double runtime_s) const {
    const auto [least, most] = std::minmax_element(benefits_.begin(), benefits_.end());
    const double own_width = range.high_s - range.low_s, spread = *most - *least;
    benefit_s = median(benefits_);
    percent = runtime_s > 0 ? 100 * benefit_s / runtime_s : 0;
    std::vector<double> paper, replay;
    for (const ReportRange& each : ranges_) {
      range.low_s = std::min(range.low_s, each.low_s);
      range.high_s = std::max(range.high_s, each.high_s);
      paper.push_back(each.paper_s);
      replay.push_back(each.replay_s);
    }
    range.paper_s = median(paper);
    range.replay_s = median(replay);
    const double width = range.high_s - range.low_s;
    if (spread > own_width && 20 * width > std::max(std::abs(benefit_s), runtime_s / 50))
      range.reason = "the runs differ from each other (--repeat)";
  }

 private:
  std::vector<double> benefits_;
  std::vector<ReportRange> ranges_;
};

// `found`: the same item in another run, by its position among `items`; null: that run does not show it.
template <typename Item>
using Found = std::function<const Item*(const Report& other, size_t position)>;

template <typename Item>
void unite_items(std::vector<Item>& items, const std::vector<Report>& others, const Found<Item>& found,
                 double Item::*figure, double Item::*percent, double runtime_s) {
  for (size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    Figures figures;
    ReportRange range = item.range.value_or(ReportRange{item.*figure, item.*figure});
    figures.add(item.*figure, range);
    for (const Report& other : others) {
      const Item* same = found(other, i);
      if (same)
        figures.add(same->*figure, same->range.value_or(ReportRange{}));
      else
        figures.add_none();
    }
    figures.unite(item.*figure, item.*percent, range, runtime_s);
    item.range = range;
  }
}

// By their keys.
template <typename Item>
Found<Item> by_key(const std::vector<Item>& items, std::vector<Item> Report::*list) {
  return [&items, list](const Report& other, size_t position) -> const Item* {
    for (const Item& item : other.*list)
      if (item.key == items[position].key) return &item;
    return nullptr;
  };
}

// In the order of their figures, with ids by it. Out: new ids by old ones.
template <typename Item>
std::map<std::string, std::string> put_in_order(std::vector<Item>& items, double Item::*figure,
                                                const std::string& letter) {
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return a.*figure > b.*figure; });
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string id = letter + std::to_string(i + 1);
    renamed[items[i].id] = id;
    items[i].id = id;
  }
  return renamed;
}

}  // namespace

void unite_repeats(ReportTogether& together, const std::vector<ReportTogether>& others, double runtime_s) {
  if (others.empty()) return;
  Figures figures;
  figures.add(together.expected_benefit_s, together.range);
  for (const ReportTogether& other : others) figures.add(other.expected_benefit_s, other.range);
  figures.unite(together.expected_benefit_s, together.expected_benefit_percent, together.range, runtime_s);
}

void unite_repeats(Report& report, const std::vector<Report>& others) {
  if (others.empty()) return;
  unite_items<ReportGroup>(
      report.groups, others, [](const Report& other, size_t i) { return &other.groups.at(i); },
      &ReportGroup::expected_benefit_s, &ReportGroup::expected_benefit_percent, report.whole_s());
  unite_items(report.problems, others, by_key(report.problems, &Report::problems),
              &ReportProblem::expected_benefit_s, &ReportProblem::expected_benefit_percent, report.whole_s());
  unite_items(report.required, others, by_key(report.required, &Report::required), &ReportRequired::up_to_s,
              &ReportRequired::up_to_percent, report.whole_s());
  if (report.together) {
    std::vector<ReportTogether> together;
    for (const Report& other : others) together.push_back(other.together.value_or(ReportTogether{}));
    unite_repeats(*report.together, together, report.whole_s());
  }
  if (report.required_together) {
    std::vector<ReportTogether> together;
    for (const Report& other : others) together.push_back(other.required_together.value_or(ReportTogether{}));
    unite_repeats(*report.required_together, together, report.whole_s());
  }
  if (report.main_loop) {
    std::vector<double> benefits = {report.main_loop->expected_benefit_s};
    for (const Report& other : others)
      if (other.main_loop) benefits.push_back(other.main_loop->expected_benefit_s);
    report.main_loop->expected_benefit_s = median(benefits);
  }
  for (ReportFunction& function : report.functions) {
    std::vector<double> benefits = {function.expected_benefit_s};
    for (const Report& other : others) {
      auto found =
          std::find_if(other.functions.begin(), other.functions.end(),
                       [&](const ReportFunction& each) { return each.operation == function.operation; });
      benefits.push_back(found == other.functions.end() ? 0 : found->expected_benefit_s);
    }
    function.expected_benefit_s = median(benefits);
  }
  for (ReportRequired& wait : report.required)
    if (wait.used_by && wait.used_by->value && wait.used_by->value->moved_up_to_s)
      wait.used_by->value->moved_up_to_s = std::min(*wait.used_by->value->moved_up_to_s, wait.up_to_s);
  std::erase_if(report.required, [](const ReportRequired& wait) { return wait.up_to_s <= 0; });
  if (std::all_of(report.required.begin(), report.required.end(),
                  [](const ReportRequired& one) { return one.sends; }))
    report.required_together.reset();
  put_in_order(report.required, &ReportRequired::up_to_s, "R");
  const auto renamed = put_in_order(report.problems, &ReportProblem::expected_benefit_s, "P");
  for (ReportGroup& group : report.groups)
    for (std::string& member : group.members) member = renamed.at(member);
  put_in_order(report.groups, &ReportGroup::expected_benefit_s, "G");
}

}  // namespace diogenes
