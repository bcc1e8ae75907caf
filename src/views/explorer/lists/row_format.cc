#include "views/explorer/lists/row_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/shared/figures.h"

namespace diogenes::explorer {
namespace {

constexpr size_t kSeconds = 8, kPercent = 7, kLast = 10;  // with the space before
constexpr size_t kLeastWhere = 14;
constexpr size_t kForPercent = 48, kForWhere = 62, kForLast = 74;

}  // namespace

RowFormat::RowFormat(size_t columns, size_t lead, size_t phrase)
    : lead_(lead), percent_(columns >= kForPercent), last_(columns >= kForLast) {
  const size_t used = kSeconds + (percent_ ? kPercent : 0) + 2 + lead + (last_ ? kLast : 0);
  const size_t room = columns > used ? columns - used : 0;
  phrase_ = room;
  if (columns < kForWhere) return;
  // The phrase tells most: the place keeps what "file.cc:123" takes, and more where there is more.
  phrase_ =
      std::min(std::max<size_t>(phrase, 4), std::max(room * 11 / 20, room - std::min(room, kLeastWhere + 2)));
  where_ = room - phrase_ - 2;
}

std::string RowFormat::heading(const std::string& gain, const std::string& what,
                               const std::string& last) const {
  std::string text = fmt::format("{:>{}}", gain, kSeconds) + std::string(percent_ ? kPercent : 0, ' ') +
                     "  " + std::string(lead_, ' ') + fitted(what, phrase_);
  if (where_ > 0) text += "  " + fitted("where", where_);
  if (last_) text += fmt::format("{:>{}}", last, kLast);
  return text;
}

Line RowFormat::row(const RowFigures& figures, const std::string& lead, const std::string& phrase,
                    const std::string& where, const std::string& last) const {
  Line line;
  line.add(fmt::format("{:>{}}", seconds_text(figures.gain_s), kSeconds), Style::gain);
  if (percent_) line.add(fmt::format("{:>{}}", percent_text(figures.percent), kPercent), Style::gain);
  line.add("  " + fitted(lead, lead_));
  line.add(fitted(phrase, phrase_), Style::bold);
  if (where_ > 0) line.add("  " + fitted(where, where_));
  if (last_) line.add(fmt::format("{:>{}}", last, kLast));
  return line;
}

}  // namespace diogenes::explorer
