#include "views/explorer/lists/context_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/text/gpu_work.h"
#include "views/text/tree_text.h"

namespace diogenes::explorer {
namespace {

constexpr size_t kShare = 7;  // columns of the percentage
constexpr const char* kArrangements[] = {"top-down", "bottom-up: callers below", "flat"};

const ReportProfile& profile_of(const Report& report) {
  static const ReportProfile kNone;
  return report.profile ? *report.profile : kNone;
}

}  // namespace

void ContextList::resize(Size size) {
  if (!tree_) {
    tree_ = std::make_unique<ContextTree>(profile_of(context_.report));
    sort_ = usual_column(*tree_);
    arrange();
    if (!shown_.empty()) unfold_hot_path();
    choose(0);
  }
  ListView::resize(size);
}

std::vector<std::string> ContextList::keys() const {
  return {"Enter fold", "v view", "o sort", "p hot path", "? help", "q quit", "d details", "/ search"};
}

std::vector<uint32_t> ContextList::below(uint32_t number) const {
  return tree_rows().sorted(tree_rows().children(number), sort_);
}

void ContextList::arrange() {
  if (auto& made = shapes_[static_cast<size_t>(view_)]; !made)
    made = std::make_unique<Shape>(Shape{ContextRows(*tree_, view_), {}});
  ContextRows& rows = tree_rows();
  const std::vector<uint32_t> roots = rows.sorted(rows.roots(), sort_);
  order_.clear();
  if (view_ == TreeView::top_down) {
    std::vector<uint32_t> waiting(roots.rbegin(), roots.rend());
    while (!waiting.empty()) {
      const uint32_t number = waiting.back();
      waiting.pop_back();
      order_.push_back(number);
      const std::vector<uint32_t> children = below(number);
      waiting.insert(waiting.end(), children.rbegin(), children.rend());
    }
  } else {
    order_ = roots;
  }
  position_.clear();
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  hot_.clear();
  if (!roots.empty())
    for (const uint32_t number : rows.hot_path(roots.front(), sort_)) hot_.insert(number);
  show();
}

void ContextList::show() {
  shown_.clear();
  const std::vector<uint32_t> roots = tree_rows().sorted(tree_rows().roots(), sort_);
  std::vector<uint32_t> waiting(roots.rbegin(), roots.rend());
  while (!waiting.empty()) {
    const uint32_t number = waiting.back();
    waiting.pop_back();
    shown_.push_back(number);
    if (!shape().unfolded.contains(number)) continue;
    const std::vector<uint32_t> children = below(number);
    waiting.insert(waiting.end(), children.rbegin(), children.rend());
  }
}

void ContextList::choose_row(uint32_t number) {
  const auto found = std::find(shown_.begin(), shown_.end(), number);
  choose(found == shown_.end() ? 0 : static_cast<size_t>(found - shown_.begin()));
}

std::string ContextList::row_text(size_t row) const {
  const ReportContext& context = tree_rows().context(order_[row]);
  return context.name + " " + context.file + " " + context.module;
}

size_t ContextList::current_row() const {
  if (shown_.empty()) return 0;
  uint32_t number = shown_[chosen()];
  while (!position_.contains(number) && tree_rows().row(number).parent)
    number = *tree_rows().row(number).parent;
  const auto found = position_.find(number);
  return found == position_.end() ? 0 : found->second;
}

void ContextList::go_to(size_t row) {
  const uint32_t number = order_[row];
  for (auto parent = tree_rows().row(number).parent; parent; parent = tree_rows().row(*parent).parent)
    shape().unfolded.insert(*parent);
  show();
  choose_row(number);
}

std::vector<TreeColumn> ContextList::columns_for(size_t columns) const {
  const size_t room = columns > kShare ? columns - kShare : 0;
  std::vector<TreeColumn> shown = fitting_columns(room, std::max<size_t>(columns * 2 / 5, 16));
  if (std::find(shown.begin(), shown.end(), sort_) == shown.end()) shown.push_back(sort_);
  return shown;
}

Line ContextList::row(size_t at, size_t columns) const {
  ContextRows& rows = tree_rows();
  const uint32_t number = shown_[at];
  Line line;
  size_t used = 0;
  for (const TreeColumn column : columns_for(columns)) {
    std::string text = fmt::format("{:>{}}", tree_cell(rows, number, column), tree_column_width(column));
    if (column == sort_ && view_ != TreeView::flat) text += share_text(rows, number, sort_, kShare);
    used += text.size();
    line.add(std::move(text), column == sort_ ? Style::gain : Style::plain);
  }
  const bool open = shape().unfolded.contains(number);
  const size_t room = columns > used + 4 ? columns - used - 4 : 0;
  const size_t depth = rows.row(number).depth;
  std::string lead = std::string(std::min(depth, room / 2), ' ');
  if (depth > room / 2 && room > 16) lead = fmt::format("{:>{}} ", fmt::format("({})", depth), room / 2 - 1);
  line.add("  " + lead + (!rows.row(number).has_children ? "  " : open ? "- " : "+ "));
  const std::string name = tree_name(rows, number, room > lead.size() ? room - lead.size() : 0);
  line.add(name, hot_.contains(number) ? Style::bold : Style::plain);
  if (const std::string place = tree_place(rows, number);
      !place.empty() && lead.size() + name.size() + place.size() + 2 <= room)
    line.add("  " + place, Style::faint);
  return line;
}

std::string ContextList::heading(size_t columns) const {
  std::string text;
  for (const TreeColumn column : columns_for(columns)) {
    text += fmt::format("{:>{}}", name_of(column), tree_column_width(column));
    if (column == sort_ && view_ != TreeView::flat) text += std::string(kShare, ' ');
  }
  return text + "    " + kArrangements[static_cast<size_t>(view_)] + ", by " + name_of(sort_);
}

std::vector<Line> ContextList::preview(size_t at, size_t columns) const {
  return context_page(context_, tree_rows(), shown_[at], columns);
}

Reply ContextList::fold(uint32_t number, bool unfold) {
  if (unfold)
    shape().unfolded.insert(number);
  else
    shape().unfolded.erase(number);
  show();
  choose_row(number);
  return {.known = true};
}

Reply ContextList::change_view() {
  view_ = static_cast<TreeView>((static_cast<int>(view_) + 1) % 3);
  arrange();
  choose(0);
  return {.known = true, .message = kArrangements[static_cast<size_t>(view_)]};
}

Reply ContextList::change_order() {
  const std::vector<TreeColumn> all = all_tree_columns();
  const uint32_t before = shown_.empty() ? 0 : shown_[chosen()];
  sort_ = all[(static_cast<size_t>(sort_) + 1) % all.size()];
  arrange();
  choose_row(before);
  return {.known = true, .message = std::string("sorted by ") + name_of(sort_)};
}

// From the chosen row on.
Reply ContextList::unfold_hot_path() {
  const std::vector<uint32_t> path = tree_rows().hot_path(shown_[chosen()], sort_);
  shape().unfolded.insert(path.begin(), path.end() - 1);
  show();
  choose_row(path.back());
  return {.known = true};
}

Reply ContextList::act(const KeyPress& key) {
  if (shown_.empty()) return {};
  if (key.is('v')) return change_view();
  if (key.is('o')) return change_order();
  if (key.is('p')) return unfold_hot_path();
  const uint32_t number = shown_[chosen()];
  const ContextRow& row = tree_rows().row(number);
  const bool unfolded = shape().unfolded.contains(number);
  const bool enter = key.key == Key::enter || key.is(' ');
  if (key.is('d') || (enter && !row.has_children)) {
    const bool inside = is_inside_kernel(tree_rows().context(number).kind);
    const int32_t work = inside ? -1 : tree_rows().context(number).work;
    const ReportProfile& profile = tree_->profile();
    if (work >= 0 && static_cast<size_t>(work) < profile.work.size())
      return {.known = true, .open = work_view(context_, profile.work[static_cast<size_t>(work)])};
    return {.known = true, .open = context_view(context_, tree_rows(), number)};
  }
  if (enter) return fold(number, !unfolded);
  if (key.key == Key::right || key.is('l')) {
    if (row.has_children && !unfolded) return fold(number, true);
    if (row.has_children) choose(chosen() + 1);
    return {.known = true};
  }
  if (key.key == Key::left || key.is('h'))
    return unfolded ? fold(number, false) : row.parent ? fold(*row.parent, false) : Reply{.known = true};
  return {};
}

std::string ContextList::nothing() const {
  return context_.report.profile ? "No calling contexts were recorded." : kNoProfile;
}

}  // namespace diogenes::explorer
