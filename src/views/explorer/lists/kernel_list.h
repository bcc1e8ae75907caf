// The list of kernels and other GPU work, by the time it took.
#pragma once
#include "views/explorer/context.h"
#include "views/explorer/lists/list_view.h"

namespace diogenes::explorer {

class KernelList : public ListView {
 public:
  explicit KernelList(const Context& context) : context_(context) {}

  std::string title() const override { return "Kernels"; }
  std::vector<std::string> keys() const override { return list_keys(); }
  size_t rows() const override { return count(); }
  std::string row_text(size_t row) const override;
  size_t current_row() const override { return chosen(); }
  void go_to(size_t row) override { choose(row); }

 protected:
  size_t count() const override { return context_.report.profile ? context_.report.profile->work.size() : 0; }
  Line row(size_t at, size_t columns) const override;
  std::string heading(size_t columns) const override;
  std::vector<Line> preview(size_t at, size_t columns) const override;
  Reply act(const KeyPress& key) override;
  std::string nothing() const override;

 private:
  const ReportGpuWork& work(size_t at) const { return context_.report.profile->work[at]; }

  const Context& context_;
};

}  // namespace diogenes::explorer
