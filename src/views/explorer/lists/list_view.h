// A list in which one row is chosen, and below it, where there is room, a preview of what is chosen. What the rows are
// is up to the views that derive from this one.
#pragma once
#include "views/explorer/view.h"

namespace diogenes::explorer {

class ListView : public View {
 public:
  void resize(Size size) override;
  Reply press(const KeyPress& key) override;
  std::vector<Line> lines() const override;
  std::string position() const override;

 protected:
  virtual size_t count() const = 0;
  virtual Line row(size_t at, size_t columns) const = 0;  // `columns`: without the mark of the chosen one
  virtual std::string heading(size_t columns) const = 0;  // above the rows; "": none
  virtual std::vector<Line> preview(size_t at, size_t columns) const = 0;
  virtual Reply act(const KeyPress& key) = 0;                         // on the chosen row, where there is one
  virtual std::string nothing() const = 0;                            // said where there are no rows
  virtual std::vector<Line> head(size_t columns, size_t most) const;  // above all; no lines

  size_t chosen() const { return chosen_; }
  void choose(size_t at);
  static std::vector<std::string> list_keys() {
    return {"Enter open", "? help", "q quit", "/ search", "Tab next list"};
  }

 private:
  struct Layout {
    size_t head = 0, rows = 0, preview = 0;  // lines of each
    bool heading = false;
  };
  Layout layout() const;

  Size size_;
  size_t chosen_ = 0, top_ = 0;
};

}  // namespace diogenes::explorer
