// Where time goes: the tree of calling contexts, which unfolds, in three views and by any column.
#pragma once
#include <array>
#include <memory>
#include <set>
#include <unordered_map>

#include "views/explorer/context.h"
#include "views/explorer/lists/list_view.h"
#include "views/shared/context_tree.h"

namespace diogenes::explorer {

class ContextList : public ListView {
 public:
  explicit ContextList(const Context& context) : context_(context) {}

  std::string title() const override { return "Tree"; }
  std::vector<std::string> keys() const override;
  // The tree is made when it is shown first: the explorer opens at once.
  void resize(Size size) override;
  // For the search: top-down all contexts, else what is not below another one.
  size_t rows() const override { return order_.size(); }
  std::string row_text(size_t row) const override;
  size_t current_row() const override;
  void go_to(size_t row) override;

 protected:
  size_t count() const override { return shown_.size(); }
  Line row(size_t at, size_t columns) const override;
  std::string heading(size_t columns) const override;
  std::vector<Line> preview(size_t at, size_t columns) const override;
  Reply act(const KeyPress& key) override;
  std::string nothing() const override;

 private:
  // One of the three views. Each keeps what is unfolded.
  struct Shape {
    ContextRows rows;
    std::set<uint32_t> unfolded;
  };

  Shape& shape() const { return *shapes_[static_cast<size_t>(view_)]; }  // of a tree that is made
  ContextRows& tree_rows() const { return shape().rows; }
  void arrange();  // after another view or order
  void show();     // what is not folded away
  void choose_row(uint32_t number);
  std::vector<uint32_t> below(uint32_t number) const;
  std::vector<TreeColumn> columns_for(size_t columns) const;
  Reply fold(uint32_t number, bool unfold);
  Reply change_view();
  Reply change_order();
  Reply unfold_hot_path();

  const Context& context_;
  std::unique_ptr<ContextTree> tree_;
  std::array<std::unique_ptr<Shape>, 3> shapes_;  // by TreeView; null: not yet looked at
  TreeView view_ = TreeView::top_down;
  TreeColumn sort_ = TreeColumn::time;
  std::vector<uint32_t> order_;                    // rows for the search, from top to bottom
  std::unordered_map<uint32_t, size_t> position_;  // of a row in it
  std::vector<uint32_t> shown_;
  std::set<uint32_t> hot_;  // rows of the hot path
};

}  // namespace diogenes::explorer
