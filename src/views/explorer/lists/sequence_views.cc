#include "views/explorer/lists/sequence_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "views/explorer/lists/row_format.h"
#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/shared/outline.h"
#include "views/shared/places.h"

namespace diogenes::explorer {
namespace {

std::vector<const ReportProblem*> members_of(const Report& report, const ReportGroup& group) {
  std::map<std::string, const ReportProblem*> by_id;
  for (const ReportProblem& problem : report.problems) by_id[problem.id] = &problem;
  std::vector<const ReportProblem*> members;
  for (const std::string& id : group.members)
    if (auto found = by_id.find(id); found != by_id.end()) members.push_back(found->second);
  return members;
}

std::string gain_text(double gain_s, double percent, const std::optional<ReportRange>& range) {
  std::string text = fmt::format("{} ({})", seconds_text(gain_s), percent_text(percent));
  if (range && seconds_text(range->low_s) != seconds_text(range->high_s))
    text += fmt::format(" [{} to {}]", seconds_text(range->low_s), seconds_text(range->high_s));
  return text;
}

// "3 synchronizations, 2 transfers"
std::string issues_text(const ReportGroup& group) {
  std::string text;
  if (group.synchronization_issues > 0) text = counted(group.synchronization_issues, "synchronization");
  if (group.transfer_issues > 0)
    text += (text.empty() ? "" : ", ") + counted(group.transfer_issues, "transfer");
  return text;
}

}  // namespace

SequenceView::SequenceView(const Context& context, const ReportGroup& sequence, const ReportGroup* part)
    : context_(context), sequence_(sequence), entries_(members_of(context.report, sequence)) {
  for (const ReportProblem* problem : entries_)
    longest_phrase_ = std::max(longest_phrase_, columns_of(problem_name(*problem)));
  last_ = entries_.empty() ? 0 : entries_.size() - 1;
  if (!part || part->members.empty()) return;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const ReportProblem* problem) {
    return problem->id == part->members.front();
  });
  const auto at = static_cast<size_t>(found - entries_.begin());
  if (at + part->members.size() > entries_.size()) return;
  first_ = at;
  last_ = at + part->members.size() - 1;
}

std::vector<std::string> SequenceView::part() const {
  std::vector<std::string> ids;
  for (size_t i = first_; i <= last_ && i < entries_.size(); ++i) ids.push_back(entries_[i]->id);
  return ids;
}

// The whole and single entries have their figures in the report.
std::vector<std::string> SequenceView::wanted() const {
  if (entries_.empty() || whole() || first_ == last_) return {};
  return part();
}

std::string SequenceView::row_text(size_t row) const {
  const ReportProblem& problem = *entries_[row];
  std::string text = problem.id + " " + problem_name(problem) + " " + problem.operation;
  if (problem.where) text += " " + problem.where->file + " " + problem.where->function;
  return text;
}

Line SequenceView::part_line() const {
  const std::string name = first_ == last_ ? fmt::format("Entry {}", first_ + 1)
                                           : fmt::format("Part {} to {}", first_ + 1, last_ + 1);
  Line line(fmt::format("{:<16}", name), Style::bold);
  if (whole())
    return Line(fmt::format("{:<16}", "Part"), Style::bold)
        .add("choose where it starts (s) and ends (e)", Style::faint);
  if (first_ == last_) {
    const ReportProblem& problem = *entries_[first_];
    return line.add(gain_text(problem.expected_benefit_s, problem.expected_benefit_percent, problem.range),
                    Style::gain);
  }
  const auto known = context_.estimates.find(part());
  if (known == context_.estimates.end()) return line.add("estimating ...", Style::faint);
  if (!known->second.error.empty()) return line.add(known->second.error, Style::warning);
  const ReportTogether& figure = known->second.figure;
  return line.add(gain_text(figure.expected_benefit_s, figure.expected_benefit_percent, figure.range),
                  Style::gain);
}

std::vector<Line> SequenceView::head(size_t columns, size_t most) const {
  if (entries_.empty() || most == 0) return {};
  std::vector<Line> lines;
  const auto figure = [](const char* name) { return Line(fmt::format("{:<16}", name), Style::bold); };
  const size_t other = std::min<size_t>(most, 4);  // lines but the title's
  for (Line& line : broken(Line(printable(sequence_.title)), columns, 0))
    if (lines.size() + other < most) lines.push_back(std::move(line));
  if (most >= 3) lines.push_back(figure("Problems").add(issues_text(sequence_)));
  if (most >= 2)
    lines.push_back(
        figure("Whole sequence")
            .add(gain_text(sequence_.expected_benefit_s, sequence_.expected_benefit_percent, sequence_.range),
                 Style::gain));
  lines.push_back(part_line());
  if (most >= 4) lines.emplace_back();
  for (Line& line : lines) line = cut(line, columns);
  return lines;
}

size_t SequenceView::lead_columns() const { return std::to_string(entries_.size()).size() + 5; }

// "[  1. ", "|  2. ", "]  3. ": the part that was chosen is bracketed.
Line SequenceView::row(size_t at, size_t columns) const {
  const ReportProblem& problem = *entries_[at];
  const RowFormat format(columns, lead_columns(), std::max<size_t>(longest_phrase_, 16));
  const bool inside = first_ <= at && at <= last_;
  const char* mark = !inside           ? "  "
                     : first_ == last_ ? "[]"
                     : at == first_    ? "[ "
                     : at == last_     ? "] "
                                       : "| ";
  const std::string lead = fmt::format("{} {:>{}}.", mark, at + 1, std::to_string(entries_.size()).size());
  Line line =
      format.row({problem.expected_benefit_s, problem.expected_benefit_percent}, lead, problem_name(problem),
                 where_text(problem.where, context_.folder, std::max<size_t>(format.where_columns(), 16)),
                 count_text(problem.count));
  if (!inside)
    for (Span& span : line.spans) span.style = Style::faint;
  return line;
}

std::string SequenceView::heading(size_t columns) const {
  return RowFormat(columns, lead_columns(), std::max<size_t>(longest_phrase_, 16))
      .heading("alone", "in program order", "calls");
}

std::vector<Line> SequenceView::preview(size_t at, size_t columns) const {
  return finding_page(context_, {nullptr, {entries_[at]}}, columns, false);
}

Reply SequenceView::act(const KeyPress& key) {
  if (entries_.empty()) return {};
  if (key.is('s')) {
    first_ = chosen();
    if (last_ < first_) last_ = entries_.size() - 1;
  } else if (key.is('e')) {
    last_ = chosen();
    if (first_ > last_) first_ = 0;
  } else if (key.is('a')) {
    first_ = 0;
    last_ = entries_.size() - 1;
  } else if (key.key == Key::enter || key.key == Key::right || key.is('d') || key.is('l')) {
    return {.known = true, .open = problem_view(context_, *entries_[chosen()])};
  } else {
    return {};
  }
  return {.known = true};
}

SequenceList::SequenceList(const Context& context)
    : context_(context), sequences_(outline(context.report).sequences) {}

const ReportGroup* SequenceList::whole_of(const ReportGroup& part) const {
  for (const ReportGroup* group : sequences_)
    if (group->grouping == "sequence" &&
        std::search(group->members.begin(), group->members.end(), part.members.begin(), part.members.end()) !=
            group->members.end())
      return group;
  return nullptr;
}

std::string SequenceList::row_text(size_t row) const {
  return sequences_[row]->id + " " + sequences_[row]->title;
}

Line SequenceList::row(size_t at, size_t columns) const {
  const ReportGroup& group = *sequences_[at];
  const RowFormat format(columns, 0, 12);
  return format.row({group.expected_benefit_s, group.expected_benefit_percent}, "",
                    counted(group.members.size(), "problem"), group.title, group.id);
}

std::string SequenceList::heading(size_t columns) const {
  return RowFormat(columns, 0, 12).heading("saves", "in a row", "id");
}

std::vector<Line> SequenceList::preview(size_t at, size_t columns) const {
  const ReportGroup& group = *sequences_[at];
  std::vector<Line> lines = broken(Line(printable(group.title), Style::bold), columns, 0);
  lines.push_back(cut(Line(gain_text(group.expected_benefit_s, group.expected_benefit_percent, group.range) +
                           "; " + issues_text(group)),
                      columns));
  size_t number = 0;
  for (const ReportProblem* problem : members_of(context_.report, group)) {
    const std::string name = fmt::format("{:>4}. {}  ", ++number, problem_name(*problem));
    const size_t room = columns - std::min(columns, name.size());
    lines.push_back(
        cut(Line(printable(name))
                .add(where_text(problem->where, context_.folder, std::max<size_t>(room, 16)), Style::faint),
            columns));
  }
  return lines;
}

Reply SequenceList::act(const KeyPress& key) {
  if (count() == 0 || (key.key != Key::enter && key.key != Key::right && !key.is('d') && !key.is('l')))
    return {};
  const ReportGroup& group = *sequences_[chosen()];
  const ReportGroup* whole = group.grouping == "subsequence" ? whole_of(group) : nullptr;
  if (!whole) return {.known = true, .open = std::make_unique<SequenceView>(context_, group)};
  return {.known = true, .open = std::make_unique<SequenceView>(context_, *whole, &group)};
}

}  // namespace diogenes::explorer
