// Rows of the explorer's lists, in columns: what is gained, what it is, where, and one more figure. A narrow terminal
// gets fewer of them.
#pragma once
#include "views/explorer/screen.h"

namespace diogenes::explorer {

struct RowFigures {
  double gain_s = 0, percent = 0;
};

class RowFormat {
 public:
  // `columns` for the row; `lead`: columns before the phrase, for marks; `phrase`: the longest, or its heading.
  RowFormat(size_t columns, size_t lead, size_t phrase);

  std::string heading(const std::string& gain, const std::string& what, const std::string& last) const;
  Line row(const RowFigures& figures, const std::string& lead, const std::string& phrase,
           const std::string& where, const std::string& last) const;
  size_t phrase_columns() const { return phrase_; }
  size_t where_columns() const { return where_; }

 private:
  size_t lead_, phrase_, where_ = 0;
  bool percent_, last_;
};

}  // namespace diogenes::explorer
