#include "views/explorer/text_view.h"

#include <algorithm>

namespace diogenes::explorer {

std::vector<std::string> TextView::keys() const {
  std::vector<std::string> hints = {place_ == Place::page ? "Esc back" : "q quit", "? help"};
  if (text_.size() > size_.lines) hints.insert(hints.end(), {"Up/Down scroll", "PgUp/PgDn page"});
  hints.emplace_back("/ search");
  if (place_ == Place::list) hints.emplace_back("Tab next list");
  return hints;
}

void TextView::resize(Size size) {
  const bool other_width = text_.empty() || size.columns != size_.columns;
  // The same part of the text stays in view.
  const size_t before = std::max<size_t>(text_.size(), 1);
  size_ = size;
  if (other_width) {
    text_ = layout_(size.columns);
    top_ = top_ * text_.size() / before;
    found_.reset();
  }
  scroll_to(top_);
}

void TextView::scroll_to(size_t top) {
  top_ = text_.size() > size_.lines ? std::min(top, text_.size() - size_.lines) : 0;
}

Reply TextView::press(const KeyPress& key) {
  const size_t page = std::max<size_t>(size_.lines, 2) - 1;
  if (key.key == Key::up || key.is('k')) {
    scroll_to(top_ > 0 ? top_ - 1 : 0);
  } else if (key.key == Key::down || key.is('j')) {
    scroll_to(top_ + 1);
  } else if (key.key == Key::page_up) {
    scroll_to(top_ > page ? top_ - page : 0);
  } else if (key.key == Key::page_down || key.is(' ')) {
    scroll_to(top_ + page);
  } else if (key.key == Key::home) {
    scroll_to(0);
  } else if (key.key == Key::end) {
    scroll_to(text_.size());
  } else {
    return {};
  }
  found_.reset();
  return {.known = true};
}

std::vector<Line> TextView::lines() const {
  const size_t end = std::min(text_.size(), top_ + size_.lines);
  return {text_.begin() + static_cast<ptrdiff_t>(top_), text_.begin() + static_cast<ptrdiff_t>(end)};
}

std::string TextView::position() const {
  if (text_.size() <= size_.lines) return "";
  return std::to_string(std::min(text_.size(), top_ + size_.lines)) + "/" + std::to_string(text_.size());
}

size_t TextView::current_row() const { return found_.value_or(top_); }

void TextView::go_to(size_t row) {
  found_ = row;
  if (row < top_ || row >= top_ + size_.lines) scroll_to(row > size_.lines / 3 ? row - size_.lines / 3 : 0);
}

}  // namespace diogenes::explorer
