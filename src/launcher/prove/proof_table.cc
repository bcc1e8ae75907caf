#include "launcher/prove/proof_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/shared/figures.h"

namespace diogenes::launcher {

namespace {

double percent(double seconds, double whole) { return whole > 0 ? 100 * seconds / whole : 0; }

std::string expected_text(const Correction& correction, double whole) {
  return fmt::format("{}{}", correction.up_to ? "up to " : "",
                     percent_text(percent(correction.expected_s, whole)));
}

std::string gain_text(const Proved& row, double whole, bool without_sign = false) {
  PairedGain gain = row.gain();
  if (without_sign) gain.median_s = std::abs(gain.median_s);
  if (row.differences_s.size() < 2) return fmt::format("{:.1f}% +- ?", percent(gain.median_s, whole));
  return fmt::format("{:.1f}% +- {:.1f}", percent(gain.median_s, whole), percent(gain.error_s, whole));
}

std::string proved_column(const Proved& row, const ProvedCorrection& one, double whole) {
  if (!one.difference.empty()) return "-";  // a run that does something else says nothing of times
  if (one.applied == 0) return "not corrected";
  return is_too_dear(one) ? "not proved" : gain_text(row, whole);
}

std::string name_of(const Correction& correction) { return correction.id.empty() ? "all" : correction.id; }
std::string name_of(const Proved& row) { return name_of(row.correction); }

std::string sentence_of(const WithoutEnd& one) {
  return fmt::format("{}: corrected, the program did not end within {}, and was ended; nothing is proved",
                     name_of(one.correction), seconds_text(one.after_s));
}

std::string row_text(const Correction& correction, const std::string& expected, const std::string& proved,
                     const std::string& calls, const std::string& results) {
  return fmt::format("{:<5}{:>13}{:>18}{:>26}   {}\n     {}\n", name_of(correction), expected, proved, calls,
                     results, correction.title);
}

// Of waits that nothing was to need: how many were needed.
uint64_t used_at(const std::vector<CorrectedSite>& sites, const CountsOfRun& counts) {
  uint64_t used = 0;
  for (const CorrectedSite& site : sites)
    if (const auto found = counts.by_site.find(site.key);
        found != counts.by_site.end() && !(site.how & kIsNeeded))
      used += found->second.used;
  return used;
}

void say_unexpected(const ProvedTable& table, const ProvedSession& session, std::string& text) {
  for (const Proved& row : table.rows)
    if (!row.difference.empty())
      text += fmt::format(
          "{}: the results are not the same: {}. This finding must not be trusted; please report it.\n",
          name_of(row), row.difference);
  for (const WithoutEnd& one : table.without_end) text += sentence_of(one) + " (docs/proving.md).\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Proved& row = table.rows[i];
    const ProvedCorrection& one = session.corrections[i];
    for (const auto& [key, times] : one.used)
      text += fmt::format(
          "{}: the program used what {} waits for before any other wait, {} in these runs: the report withdraws it.\n",
          name_of(row), table.ids.at(key), counted(times, "time"));
    if (is_too_dear(one))
      text += fmt::format("{}: correcting its calls took {} of a run, as much as there was to gain.\n",
                          name_of(row), seconds_text(one.correcting_s));
    else if (says_something(one) &&
             !meets_expected(one, session.most_hidden_s(one), one.expected_s, one.low_s, one.high_s))
      text += fmt::format("{}: {} was expected, but {} was {}.\n", name_of(row),
                          expected_text(row.correction, table.whole_s), gain_text(row, table.whole_s, true),
                          row.gain().median_s < 0 ? "lost" : "gained");
  }
}

void say_rest(const ProvedTable& table, std::string& text) {
  for (const Proved& row : table.rows) {
    const CorrectionCounts sum = row.counts.all_sites();
    if (sum.calls == 0) text += fmt::format("{}: none of its calls was made in these runs.\n", name_of(row));
    if (sum.touched > 0)
      text += fmt::format(
          "{}: in {} of {} calls of all these runs, the results were used before the GPU was done, and that use waited.\n",
          name_of(row), count_text(sum.touched), count_text(sum.deferred));
    for (int i = 1; i < static_cast<int>(Undeferred::count); ++i)
      if (sum.undeferred[i] > 0)
        text += fmt::format("{}: {} waited as before: {}.\n", name_of(row),
                            counted(sum.undeferred[i], "call"), undeferred_text(static_cast<Undeferred>(i)));
    if (sum.other_content > 0)
      text +=
          fmt::format("{}: {} brought other bytes than what was there before, and {} sent.\n", name_of(row),
                      counted(sum.other_content, "transfer"), sum.other_content == 1 ? "was" : "were");
    if (row.counts.ordered > 0)
      text += fmt::format(
          "{}: in these runs, {} gave the GPU work that had to begin after another stream's, as with the waits. What "
          "streams gain by running side by side is not in the figure.\n",
          name_of(row), counted(row.counts.ordered, "call"));
    if (row.counts.correcting_s > 0)
      text +=
          fmt::format("{}: correcting its calls took {} of a run{}: up to that much more may be gained.\n",
                      name_of(row), seconds_text(row.counts.correcting_s / table.pairs),
                      row.counts.looked_s > 0 ? fmt::format(", {} of it reading the bytes of copies",
                                                            seconds_text(row.counts.looked_s / table.pairs))
                                              : "");
    if (row.counts.failed > 0) text += fmt::format("{}: GPU work failed in these runs.\n", name_of(row));
  }
  for (const std::string& sentence : table.left_out) text += sentence + ".\n";
}

}  // namespace

std::string little_corrected(const Correction& correction, const CountsOfRun& counts) {
  const CorrectionCounts sum = counts.all_sites();
  if (2 * sum.deferred >= sum.calls) return "";
  const auto* most = std::max_element(std::begin(sum.undeferred) + 1, std::end(sum.undeferred));
  return fmt::format("{}: {} of {} {} not corrected; what is proved says little of it (most often: {})",
                     name_of(correction), count_text(sum.calls - sum.deferred), counted(sum.calls, "call"),
                     sum.calls == 1 ? "is" : "are",
                     undeferred_text(static_cast<Undeferred>(most - std::begin(sum.undeferred))));
}

std::string proved_text(const ProvedTable& table) {
  std::string text;
  const ProvedSession session = proved_session(table, 0, "");
  say_unexpected(table, session, text);
  if (!text.empty()) text += "\n";
  text +=
      fmt::format("{:<5}{:>13}{:>18}{:>26}   {}\n", "", "expected", "proved", "calls of a run", "results");
  const auto of_a_run = [&table](uint64_t count) {
    return count_text((count + static_cast<uint64_t>(table.pairs) / 2) / static_cast<uint64_t>(table.pairs));
  };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Proved& row = table.rows[i];
    const CorrectionCounts sum = row.counts.all_sites();
    text += row_text(row.correction, expected_text(row.correction, table.whole_s),
                     proved_column(row, session.corrections[i], table.whole_s),
                     fmt::format("{} of {}", of_a_run(sum.deferred), of_a_run(sum.calls)),
                     row.difference.empty() ? "equal" : "DIFFERENT");
  }
  for (const WithoutEnd& one : table.without_end)
    text +=
        row_text(one.correction, expected_text(one.correction, table.whole_s), "-", "-", "it did not end");
  text += fmt::format(
      "\nPercentages are of {}, as in the report; these runs took {} as it is. Medians of {}, +- two standard errors.\n"
      "{} {}, which cost {:.1f}% +- {:.1f}.\n",
      seconds_text(table.whole_s), seconds_text(table.runtime_s),
      counted(static_cast<uint64_t>(table.pairs), "pair"),
      table.from_first_call ? "From the first of these calls to the end,"
                            : "Of whole runs, against those as it is:",
      table.from_first_call ? "against runs with the same hooks and nothing corrected"
                            : "the corrected ones have Diogenes' hooks",
      percent(table.own.median_s, table.whole_s), percent(table.own.error_s, table.whole_s));
  say_rest(table, text);
  return text;
}

ProvedSession proved_session(const ProvedTable& table, int64_t started_ns, const std::string& model) {
  ProvedSession proved{.session_started_ns = started_ns,
                       .model = model,
                       .runtime_s = table.runtime_s,
                       .own_cost_s = table.own.median_s,
                       .own_cost_error_s = table.own.error_s,
                       .from_first_call = table.from_first_call,
                       .pairs = static_cast<uint64_t>(table.pairs),
                       .corrections = {},
                       .left_out = table.left_out};
  for (const WithoutEnd& one : table.without_end) proved.left_out.push_back(sentence_of(one));
  for (const Proved& row : table.rows) {
    const CorrectionCounts sum = row.counts.all_sites();
    const PairedGain gain = row.gain();
    ProvedCorrection one{.id = row.correction.id,
                         .keys = row.correction.keys,
                         .expected_s = row.correction.expected_s,
                         .low_s = row.correction.low_s,
                         .high_s = row.correction.high_s,
                         .up_to = row.correction.up_to,
                         .proved_s = gain.median_s,
                         .error_s = gain.error_s,
                         .differences_s = row.differences_s,
                         .calls = sum.calls,
                         .applied = sum.deferred,
                         .touched = sum.touched,
                         .not_applied = {},
                         .awaited_s = row.counts.awaited_s,
                         .correcting_s = row.counts.correcting_s / table.pairs,
                         .looked_s = row.counts.looked_s / table.pairs,
                         .other_content = sum.other_content,
                         .ordered = row.counts.ordered,
                         .difference = row.difference};
    for (const auto& [key, sites] : row.correction.by_key)
      if (const uint64_t used = used_at(sites, row.counts); used > 0) one.used.emplace_back(key, used);
    for (int i = 1; i < static_cast<int>(Undeferred::count); ++i)
      if (sum.undeferred[i] > 0)
        one.not_applied.emplace_back(undeferred_text(static_cast<Undeferred>(i)), sum.undeferred[i]);
    proved.corrections.push_back(std::move(one));
  }
  return proved;
}

}  // namespace diogenes::launcher
