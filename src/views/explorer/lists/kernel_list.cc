#include "views/explorer/lists/kernel_list.h"

#include <algorithm>

#include "views/explorer/lists/row_format.h"
#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/shared/shortened_name.h"
#include "views/text/gpu_work.h"

namespace diogenes::explorer {
namespace {

RowFormat format_of(const ReportProfile& profile, size_t columns) {
  size_t longest = 0;
  for (const ReportGpuWork& work : profile.work) longest = std::max(longest, columns_of(work.name));
  constexpr size_t kLongest = 40;  // what is longer leaves room for the place
  return {columns, 0, std::min(longest, kLongest)};
}

}  // namespace

std::string KernelList::row_text(size_t row) const {
  const ReportGpuWork& one = work(row);
  std::string text = one.id + " " + one.name + " " + one.full_name;
  for (const ReportGpuPath& path : one.paths) {
    text += " " + path.via;
    if (path.where) text += " " + path.where->file + " " + path.where->function;
  }
  return text;
}

Line KernelList::row(size_t at, size_t columns) const {
  const ReportGpuWork& one = work(at);
  const RowFormat format = format_of(*context_.report.profile, columns);
  const std::string gains = !one.what_if     ? "-"
                            : is_hidden(one) ? "hidden"
                                             : seconds_text(one.what_if->half.seconds);
  return format.row({one.gpu_s, one.percent}, "", shortened_name(one.name, format.phrase_columns()),
                    launch_place(one, context_.folder, std::max<size_t>(format.where_columns(), 16)), gains);
}

std::string KernelList::heading(size_t columns) const {
  return format_of(*context_.report.profile, columns).heading("GPU", "kernel, copy or fill", "gains");
}

std::vector<Line> KernelList::preview(size_t at, size_t columns) const {
  return work_page(context_, work(at), columns, false);
}

Reply KernelList::act(const KeyPress& key) {
  if (count() == 0 || (key.key != Key::enter && key.key != Key::right && !key.is('d') && !key.is('l')))
    return {};
  return {.known = true, .open = work_view(context_, work(chosen()))};
}

std::string KernelList::nothing() const {
  return context_.report.profile ? "The GPU did nothing that was recorded." : kNoProfile;
}

}  // namespace diogenes::explorer
