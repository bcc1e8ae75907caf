// A text that is read by scrolling: the page of a problem, of a needed wait, help. In: a function that lays the text
// out for a width.
#pragma once
#include <functional>

#include "views/explorer/view.h"

namespace diogenes::explorer {

class TextView : public View {
 public:
  using Layout = std::function<std::vector<Line>(size_t columns)>;
  enum class Place : bool { page, list };  // on top of a list; in the place of one
  TextView(std::string title, Layout layout, Place place = Place::page)
      : title_(std::move(title)), layout_(std::move(layout)), place_(place) {}

  std::string title() const override { return title_; }
  std::vector<std::string> keys() const override;
  void resize(Size size) override;
  Reply press(const KeyPress& key) override;
  std::vector<Line> lines() const override;
  std::string position() const override;
  size_t rows() const override { return text_.size(); }
  std::string row_text(size_t row) const override { return text_[row].text(); }
  size_t current_row() const override;
  void go_to(size_t row) override;

 private:
  void scroll_to(size_t top);

  std::string title_;
  Layout layout_;
  Place place_;
  std::vector<Line> text_;
  Size size_;
  size_t top_ = 0;
  std::optional<size_t> found_;  // the row that was gone to last, until the text is scrolled
};

}  // namespace diogenes::explorer
