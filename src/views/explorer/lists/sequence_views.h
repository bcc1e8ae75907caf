// Sequences, as Figures 6 and 8 of the paper show them: the list of them, and one with its entries. Of one, a start and
// an end can be chosen, and what fixing only the part between them saves is shown.
#pragma once
#include "views/explorer/context.h"
#include "views/explorer/lists/list_view.h"

namespace diogenes::explorer {

class SequenceView : public ListView {
 public:
  // `part`: chosen at the start; null: all of it.
  SequenceView(const Context& context, const ReportGroup& sequence, const ReportGroup* part = nullptr);

  std::string title() const override { return sequence_.id + " sequence"; }
  std::vector<std::string> keys() const override {
    return {"s start", "e end", "a all", "Esc back", "? help", "Enter open", "/ search"};
  }
  size_t rows() const override { return entries_.size(); }
  std::string row_text(size_t row) const override;
  size_t current_row() const override { return chosen(); }
  void go_to(size_t row) override { choose(row); }
  std::vector<std::string> wanted() const override;

 protected:
  size_t count() const override { return entries_.size(); }
  Line row(size_t at, size_t columns) const override;
  std::string heading(size_t columns) const override;
  std::vector<Line> head(size_t columns, size_t most) const override;
  std::vector<Line> preview(size_t at, size_t columns) const override;
  Reply act(const KeyPress& key) override;
  std::string nothing() const override { return "The report has none of its problems."; }

 private:
  bool whole() const { return first_ == 0 && last_ + 1 == entries_.size(); }
  std::vector<std::string> part() const;
  Line part_line() const;
  size_t lead_columns() const;

  const Context& context_;
  const ReportGroup& sequence_;
  std::vector<const ReportProblem*> entries_;
  size_t longest_phrase_ = 0;
  size_t first_ = 0, last_ = 0;  // of the part; both are in it
};

class SequenceList : public ListView {
 public:
  explicit SequenceList(const Context& context);

  std::string title() const override { return "Sequences"; }
  std::vector<std::string> keys() const override { return list_keys(); }
  size_t rows() const override { return sequences_.size(); }
  std::string row_text(size_t row) const override;
  size_t current_row() const override { return chosen(); }
  void go_to(size_t row) override { choose(row); }

 protected:
  size_t count() const override { return sequences_.size(); }
  Line row(size_t at, size_t columns) const override;
  std::string heading(size_t columns) const override;
  std::vector<Line> preview(size_t at, size_t columns) const override;
  Reply act(const KeyPress& key) override;
  std::string nothing() const override {
    return "No two problems follow each other without a needed wait between them.";
  }

 private:
  const ReportGroup* whole_of(const ReportGroup& part) const;

  const Context& context_;
  std::vector<const ReportGroup*> sequences_;  // and parts of them
};

}  // namespace diogenes::explorer
