// The first page: groups of problems by what fixing them gains. They unfold to the problems in them.
#pragma once
#include <set>

#include "views/explorer/context.h"
#include "views/explorer/lists/list_view.h"
#include "views/explorer/lists/problem_tree.h"

namespace diogenes::explorer {

class FindingsView : public ListView {
 public:
  explicit FindingsView(const Context& context);

  std::string title() const override { return "Findings"; }
  std::vector<std::string> keys() const override;
  size_t rows() const override { return entries_.size(); }
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
  struct Entry {
    const Node* node;
    size_t depth, outer;  // `outer`: the entry that it is in; itself: none
  };

  void rebuild();
  void add(const Node& node, size_t depth, size_t outer);
  void show();  // what is not folded away
  Reply open(const Node& node) const;
  Reply fold(size_t entry, bool unfold);
  Reply change_kind(bool forward);
  std::string phrase(const Node& node) const;
  std::string arrangement() const;  // grouping, order and kind, in words

  const Context& context_;
  Grouping grouping_ = Grouping::findings;
  Order order_ = Order::benefit;
  std::string kind_;
  std::vector<std::string> kinds_;
  std::vector<Node> tree_;
  std::vector<Entry> entries_;      // the tree from top to bottom, all unfolded
  std::vector<size_t> shown_;       // of `entries_`
  std::set<std::string> unfolded_;  // ids
  size_t longest_phrase_ = 0, deepest_ = 0;
};

}  // namespace diogenes::explorer
