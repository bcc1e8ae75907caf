#include "views/explorer/lists/required_list.h"

#include <algorithm>

#include "views/explorer/lists/row_format.h"
#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/shared/places.h"

namespace diogenes::explorer {
namespace {

RowFormat format_of(const Report& report, size_t columns) {
  size_t longest = 0;
  for (const ReportRequired& required : report.required)
    longest = std::max(longest, columns_of(required_phrase(required)));
  return {columns, 0, longest};
}

}  // namespace

std::string RequiredList::row_text(size_t row) const {
  const ReportRequired& required = context_.report.required[row];
  std::string text = required.id + " " + required_phrase(required) + " " + required.operation;
  if (required.where) text += " " + required.where->file + " " + required.where->function;
  return text + " " + required.used_for;
}

Line RequiredList::row(size_t at, size_t columns) const {
  const ReportRequired& required = context_.report.required[at];
  const RowFormat format = format_of(context_.report, columns);
  return format.row({required.up_to_s, required.up_to_percent}, "", required_phrase(required),
                    where_text(required.where, context_.folder, std::max<size_t>(format.where_columns(), 16)),
                    count_text(required.count));
}

std::string RequiredList::heading(size_t columns) const {
  return format_of(context_.report, columns).heading("up to", "call", "calls");
}

std::vector<Line> RequiredList::preview(size_t at, size_t columns) const {
  return required_page(context_, context_.report.required[at], columns, false);
}

Reply RequiredList::act(const KeyPress& key) {
  if (count() == 0 || (key.key != Key::enter && key.key != Key::right && !key.is('d') && !key.is('l')))
    return {};
  return {.known = true, .open = required_view(context_, context_.report.required[chosen()])};
}

}  // namespace diogenes::explorer
