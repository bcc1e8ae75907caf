#include "views/text/profile_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/shared/figures.h"

namespace diogenes {

void profile_table(Page& page, const Report& report, size_t most) {
  if (report.functions.empty()) return;
  std::vector<const ReportFunction*> rows;
  for (const ReportFunction& function : report.functions) rows.push_back(&function);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->call_s > b->call_s; });
  std::vector<const ReportFunction*> by_benefit = rows;
  std::stable_sort(by_benefit.begin(), by_benefit.end(),
                   [](auto* a, auto* b) { return a->expected_benefit_s > b->expected_benefit_s; });
  const size_t shown = std::min(most, rows.size());
  size_t name = 8;
  for (size_t i = 0; i < shown; ++i) name = std::max(name, rows[i]->operation.size());
  page.line();
  page.line(page.bold("Time in driver calls"));
  const bool with_waits = name + 70 <= page.width();
  auto waits = [&](const std::string& text) { return with_waits ? fmt::format(" {:>10}", text) : ""; };
  page.line(page.faint(fmt::format("{:>2}  {:<{}} {:>10} {:>17}{} {:>19} {:>5}", "", "function", name,
                                   "calls", "time in call", waits("waited"), "can be saved", "rank")));
  for (size_t i = 0; i < shown; ++i) {
    const ReportFunction& row = *rows[i];
    const double percent = report.runtime_s > 0 ? 100 / report.runtime_s : 0;
    const bool gains = row.expected_benefit_s > 0;
    const auto rank = std::find(by_benefit.begin(), by_benefit.end(), &row) - by_benefit.begin() + 1;
    const std::string gain = gains ? fmt::format("{:>11} {:>7}", seconds_text(row.expected_benefit_s),
                                                 percent_text(row.expected_benefit_s * percent))
                                   : "-";
    page.line(fmt::format("{:>2}  {:<{}} {:>10} {:>9} {:>7}{} {:>19} {:>5}", i + 1, row.operation, name,
                          count_text(row.count), seconds_text(row.call_s), percent_text(row.call_s * percent),
                          waits(seconds_text(row.waited_s)), gain, gains ? std::to_string(rank) : "-"));
  }
  if (shown < rows.size()) page.line("    " + counted(rows.size() - shown, "more function"));
}

}  // namespace diogenes
