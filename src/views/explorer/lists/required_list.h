// The list of needed waits that cost most.
#pragma once
#include "views/explorer/context.h"
#include "views/explorer/lists/list_view.h"
#include "views/shared/phrases.h"

namespace diogenes::explorer {

class RequiredList : public ListView {
 public:
  explicit RequiredList(const Context& context) : context_(context) {}

  std::string title() const override { return required_title(context_.report.required); }
  std::vector<std::string> keys() const override { return list_keys(); }
  size_t rows() const override { return count(); }
  std::string row_text(size_t row) const override;
  size_t current_row() const override { return chosen(); }
  void go_to(size_t row) override { choose(row); }

 protected:
  size_t count() const override { return context_.report.required.size(); }
  Line row(size_t at, size_t columns) const override;
  std::string heading(size_t columns) const override;
  std::vector<Line> preview(size_t at, size_t columns) const override;
  Reply act(const KeyPress& key) override;
  std::string nothing() const override { return "No needed wait costs much."; }

 private:
  const Context& context_;
};

}  // namespace diogenes::explorer
