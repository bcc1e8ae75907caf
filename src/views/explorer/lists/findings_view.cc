#include "views/explorer/lists/findings_view.h"

#include <algorithm>

#include "views/explorer/lists/row_format.h"
#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/shared/phrases.h"
#include "views/text/problem_text.h"

namespace diogenes::explorer {
namespace {

constexpr const char* kGroupings[] = {"by finding", "by function", "one by one"};
constexpr const char* kOrders[] = {"benefit", "calls", "time waited", "bytes"};
constexpr const char* kHeadings[] = {"calls", "calls", "waited", "bytes"};

}  // namespace

FindingsView::FindingsView(const Context& context) : context_(context), kinds_(kinds_of(context.report)) {
  rebuild();
}

std::vector<std::string> FindingsView::keys() const {
  return {"Enter open", "? help", "q quit", "/ search", "Tab next list",
          "g group",    "o sort", "f kind", "d details"};
}

void FindingsView::rebuild() {
  std::string before;
  if (!shown_.empty()) before = entries_[shown_[chosen()]].node->id();
  tree_ = problem_tree(context_.report, grouping_, kind_);
  put_in_order(tree_, order_);
  entries_.clear();
  longest_phrase_ = deepest_ = 0;
  for (const Node& node : tree_) add(node, 0, entries_.size());
  show();
  for (size_t i = 0; i < shown_.size(); ++i)
    if (entries_[shown_[i]].node->id() == before) return choose(i);
  choose(0);
}

void FindingsView::add(const Node& node, size_t depth, size_t outer) {
  const size_t at = entries_.size();
  entries_.push_back({&node, depth, outer});
  longest_phrase_ = std::max(longest_phrase_, columns_of(phrase(node)));
  deepest_ = std::max(deepest_, depth);
  for (const Node& child : node.children) add(child, depth + 1, at);
}

void FindingsView::show() {
  shown_.clear();
  std::vector<bool> open(entries_.size());  // its children are shown
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool visible = entry.outer == i || open[entry.outer];
    if (visible) shown_.push_back(i);
    open[i] = visible && unfolded_.contains(entry.node->id());
  }
}

std::string FindingsView::phrase(const Node& node) const {
  return node.group && grouping_ == Grouping::functions ? node.group->title : finding_phrase(node.finding());
}

std::string FindingsView::row_text(size_t row) const {
  const Node& node = *entries_[row].node;
  std::string text = node.id() + " " + phrase(node);
  if (!node.children.empty()) return text + " " + (node.group ? node.group->title : "");
  const ReportProblem& problem = *node.problems.front();
  text += " " + problem.kind + " " + problem.operation + " " + problem.api;
  if (problem.where)
    text +=
        " " + problem.where->file + ":" + std::to_string(problem.where->line) + " " + problem.where->function;
  for (const ReportFrame& frame : problem.stack) text += " " + frame.function;
  return text;
}

size_t FindingsView::current_row() const { return shown_.empty() ? 0 : shown_[chosen()]; }

void FindingsView::go_to(size_t row) {
  for (size_t at = row; entries_[at].outer != at;) {
    at = entries_[at].outer;
    unfolded_.insert(entries_[at].node->id());
  }
  show();
  choose(static_cast<size_t>(std::find(shown_.begin(), shown_.end(), row) - shown_.begin()));
}

Line FindingsView::row(size_t at, size_t columns) const {
  const Entry& entry = entries_[shown_[at]];
  const Node& node = *entry.node;
  const RowFormat format(columns, 2, longest_phrase_ + 2 * deepest_);
  std::string lead = "  ";
  if (!node.children.empty()) lead = unfolded_.contains(node.id()) ? "- " : "+ ";
  const Finding finding = node.finding();
  const std::string last = order_ == Order::waited  ? seconds_text(waited_of(finding))
                           : order_ == Order::bytes ? bytes_text(bytes_of(finding))
                                                    : count_text(calls_of(finding));
  return format.row({finding.benefit_s(), finding.benefit_percent()}, lead,
                    std::string(2 * entry.depth, ' ') + phrase(node),
                    finding_place(finding, context_.folder, std::max<size_t>(format.where_columns(), 16)),
                    last);
}

std::string FindingsView::heading(size_t columns) const {
  return RowFormat(columns, 2, longest_phrase_ + 2 * deepest_)
      .heading("saves", arrangement(), kHeadings[static_cast<size_t>(order_)]);
}

std::string FindingsView::arrangement() const {
  std::string text = kGroupings[static_cast<size_t>(grouping_)];
  if (order_ != Order::benefit) text += std::string(", sorted by ") + kOrders[static_cast<size_t>(order_)];
  if (!kind_.empty()) text += ", only: " + kind_phrase(kind_);
  return text;
}

std::string FindingsView::nothing() const {
  return context_.report.incomplete.empty()
             ? "There is nothing to save here."
             : "Nothing can be said yet: what is missing is under Session (key 5).";
}

std::vector<Line> FindingsView::preview(size_t at, size_t columns) const {
  return finding_page(context_, entries_[shown_[at]].node->finding(), columns, false);
}

Reply FindingsView::open(const Node& node) const {
  if (node.children.empty()) return {.known = true, .open = problem_view(context_, *node.problems.front())};
  return {.known = true, .open = finding_view(context_, node.finding())};
}

Reply FindingsView::fold(size_t entry, bool unfold) {
  if (unfold)
    unfolded_.insert(entries_[entry].node->id());
  else
    unfolded_.erase(entries_[entry].node->id());
  show();
  choose(static_cast<size_t>(std::find(shown_.begin(), shown_.end(), entry) - shown_.begin()));
  return {.known = true};
}

Reply FindingsView::change_kind(bool forward) {
  if (kinds_.empty()) return {.known = true};
  // All, then each.
  const size_t count = kinds_.size() + 1;
  const auto found = std::find(kinds_.begin(), kinds_.end(), kind_);
  size_t at = kind_.empty() ? 0 : static_cast<size_t>(found - kinds_.begin()) + 1;
  at = (at + (forward ? 1 : count - 1)) % count;
  kind_ = at == 0 ? "" : kinds_[at - 1];
  rebuild();
  return {.known = true, .message = kind_.empty() ? "all kinds" : "only: " + kind_phrase(kind_)};
}

Reply FindingsView::act(const KeyPress& key) {
  if (key.is('f') || key.is('F')) return change_kind(key.is('f'));
  if (key.is('o')) {
    order_ = static_cast<Order>((static_cast<int>(order_) + 1) % 4);
    rebuild();
    return {.known = true, .message = std::string("sorted by ") + kOrders[static_cast<size_t>(order_)]};
  }
  if (key.is('g')) {
    grouping_ = static_cast<Grouping>((static_cast<int>(grouping_) + 1) % 3);
    rebuild();
    return {.known = true, .message = std::string("grouped ") + kGroupings[static_cast<size_t>(grouping_)]};
  }
  if (shown_.empty()) return {};
  const size_t at = shown_[chosen()];
  const Entry& entry = entries_[at];
  const bool group = !entry.node->children.empty(), unfolded = group && unfolded_.contains(entry.node->id());
  if (key.is('d') || (key.key == Key::enter && !group)) return open(*entry.node);
  if (key.key == Key::enter || key.is(' ')) return group ? fold(at, !unfolded) : Reply{.known = true};
  if (key.key == Key::right || key.is('l')) {
    if (group && !unfolded) return fold(at, true);
    if (group) choose(chosen() + 1);
    return {.known = true};
  }
  if (key.key == Key::left || key.is('h'))
    return unfolded ? fold(at, false) : entry.outer != at ? fold(entry.outer, false) : Reply{.known = true};
  return {};
}

}  // namespace diogenes::explorer
