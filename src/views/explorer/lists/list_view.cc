#include "views/explorer/lists/list_view.h"

#include <algorithm>

namespace diogenes::explorer {
namespace {

constexpr size_t kMark = 2;          // columns of the mark of the chosen row
constexpr size_t kForPreview = 12;   // lines of rows and preview, from which on there is one
constexpr size_t kLeastPreview = 4;  // with the line above it
constexpr size_t kRowsShare = 55;    // percent of these lines, at most

}  // namespace

std::vector<Line> ListView::head(size_t, size_t) const { return {}; }

ListView::Layout ListView::layout() const {
  Layout result;
  const size_t most_head = size_.lines > 8 ? size_.lines / 3 : size_.lines > 4 ? 2 : 0;
  result.head = std::min(head(size_.columns, most_head).size(), most_head);
  size_t room = size_.lines - result.head;
  result.heading = room > 3 && count() > 0 && !heading(size_.columns).empty();
  room -= result.heading;
  result.rows = room;
  if (room >= kForPreview && count() > 0) {
    const size_t rows = std::min(count(), room * kRowsShare / 100);
    if (room - rows >= kLeastPreview) {
      result.rows = rows;
      result.preview = room - rows;
    }
  }
  return result;
}

void ListView::choose(size_t at) {
  const size_t rows = std::max<size_t>(layout().rows, 1);
  chosen_ = count() == 0 ? 0 : std::min(at, count() - 1);
  top_ = std::min(top_, chosen_);
  if (chosen_ >= top_ + rows) top_ = chosen_ - rows + 1;
  // No empty rows below, where there are rows above.
  if (top_ + rows > count()) top_ = count() > rows ? count() - rows : 0;
}

void ListView::resize(Size size) {
  size_ = size;
  choose(chosen_);
}

Reply ListView::press(const KeyPress& key) {
  const size_t page = std::max<size_t>(layout().rows, 2) - 1;
  const size_t last = count() == 0 ? 0 : count() - 1;
  if (key.key == Key::up || key.is('k')) {
    choose(chosen_ > 0 ? chosen_ - 1 : 0);
  } else if (key.key == Key::down || key.is('j')) {
    choose(chosen_ + 1);
  } else if (key.key == Key::page_up) {
    choose(chosen_ > page ? chosen_ - page : 0);
  } else if (key.key == Key::page_down) {
    choose(chosen_ + page);
  } else if (key.key == Key::home) {
    choose(0);
  } else if (key.key == Key::end) {
    choose(last);
  } else {
    return act(key);
  }
  return {.known = true};
}

std::vector<Line> ListView::lines() const {
  const Layout layout = this->layout();
  std::vector<Line> result = head(size_.columns, layout.head);
  result.resize(layout.head);
  const size_t columns = size_.columns > kMark ? size_.columns - kMark : 0;
  if (count() == 0) {
    for (const Line& line : broken(Line(nothing()), size_.columns, 0))
      if (result.size() < size_.lines) result.push_back(line);
    return result;
  }
  if (layout.heading)
    result.emplace_back(std::string(kMark, ' ') + cut(heading(columns), columns), Style::faint);
  const size_t end = std::min(count(), top_ + layout.rows);
  for (size_t i = top_; i < end; ++i) {
    const bool is_chosen = i == chosen_;
    Line line(is_chosen ? "> " : "  ");
    for (Span& span : row(i, columns).spans) line.spans.push_back(std::move(span));
    line.selected = is_chosen;
    result.push_back(cut(line, size_.columns));
  }
  if (layout.preview > 0) {
    result.emplace_back(std::string(size_.columns, '-'), Style::faint);
    const std::vector<Line> shown = preview(chosen_, size_.columns);
    for (size_t i = 0; i + 1 < layout.preview && i < shown.size(); ++i) result.push_back(shown[i]);
  }
  return result;
}

std::string ListView::position() const {
  if (count() == 0) return "";
  return std::to_string(chosen_ + 1) + "/" + std::to_string(count());
}

}  // namespace diogenes::explorer
