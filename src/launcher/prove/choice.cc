#include "launcher/prove/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/problem_kinds.h"
#include "analysis/report/notices.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/text/problem_text.h"

namespace diogenes::launcher {

namespace {

// What is worth a run of its own where the user has named nothing.
constexpr double kWorthProving = 1;  // percent
constexpr size_t kMostAlone = 4;

constexpr int kTitleWidth = 60;

Correction correction_of(const ReportProblem& problem) {
  Correction result{problem.id,
                    "",
                    problem.expected_benefit_s,
                    problem.expected_benefit_s,
                    problem.expected_benefit_s,
                    false,
                    {problem.key},
                    {}};
  result.title = fmt::format("{}, {}", finding_phrase(Finding{nullptr, {&problem}}),
                             where_text(problem.where, "", kTitleWidth));
  if (problem.range) result.low_s = problem.range->low_s, result.high_s = problem.range->high_s;
  return result;
}

Correction correction_of(const ReportRequired& required) {
  Correction result{
      required.id,
      fmt::format("needed {}, {}", required.operation, where_text(required.where, "", kTitleWidth)),
      required.up_to_s,
      0,
      required.range ? required.range->high_s : required.up_to_s,
      true,
      {},
      {}};
  for (const ReportRequiredCall& call : required.calls)
    if (call.waits) result.keys.push_back(call.key);
  return result;
}

Correction correction_of(const ReportGroup& group, const Report& report) {
  Correction result{group.id,
                    group.title,
                    group.expected_benefit_s,
                    group.expected_benefit_s,
                    group.expected_benefit_s,
                    false,
                    {},
                    {}};
  if (group.range) result.low_s = group.range->low_s, result.high_s = group.range->high_s;
  for (const ReportProblem& problem : report.problems)
    if (std::find(group.members.begin(), group.members.end(), problem.id) != group.members.end())
      result.keys.push_back(problem.key);
  return result;
}

template <typename Item>
const Item* find(const std::vector<Item>& items, const std::string& id) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.id == id; });
  return found == items.end() ? nullptr : &*found;
}

Status add_named(const Report& report, const std::string& id, Choice& choice) {
  if (const auto* problem = find(report.problems, id)) {
    choice.corrections.push_back(correction_of(*problem));
  } else if (const auto* required = find(report.required, id)) {
    if (required->sends)
      return error("--only: %s is data that the program sends: it cannot run without; name another finding",
                   id.c_str());
    choice.corrections.push_back(correction_of(*required));
  } else if (const auto* group = find(report.groups, id)) {
    choice.corrections.push_back(correction_of(*group, report));
  } else {
    return error("--only: the report has no %s; `diogenes report` lists what it has", id.c_str());
  }
  return Done{};
}

void add_all(const Report& report, Choice& choice) {
  for (const ReportProblem& problem : report.problems) choice.corrections.push_back(correction_of(problem));
}

// All of them at once. What that gains is not the sum of what each gains alone: the report knows it where these are all of
// its problems; else the sum is the most.
Correction together(const Report& report, const std::vector<Correction>& each) {
  Correction all{"", "all of these", 0, 0, 0, false, {}, {}};
  for (const Correction& one : each) {
    all.expected_s += one.expected_s, all.low_s += one.low_s, all.high_s += one.high_s;
    all.up_to |= one.up_to;
    all.keys.insert(all.keys.end(), one.keys.begin(), one.keys.end());
  }
  const bool whole_report = report.together && all.keys.size() == report.problems.size() && !all.up_to;
  if (whole_report) {
    all.expected_s = report.together->expected_benefit_s;
    all.low_s = report.together->range.low_s, all.high_s = report.together->range.high_s;
  } else {
    all.up_to |= each.size() > 1;
  }
  return all;
}

bool is_unneeded(const ReportProblem& problem) {
  return problem.count == problem.instances &&
         (problem.kind == kind_name(ProblemKind::unnecessary_synchronization) ||
          problem.kind == kind_name(ProblemKind::unused_transfer));
}

}  // namespace

Result<Choice> choose_corrections(const Report& report, const std::vector<std::string>& only) {
  Choice choice;
  for (const ReportNotice& notice : report.notices) {
    const char* why =
        notice.code == kReachedFromOutside ? "that cannot be guarded, so nothing is corrected"
        : notice.code == kWorkFailed
            ? "a wait that is deferred cannot report that, so nothing is corrected; fix the program, and measure again"
            : nullptr;
    if (!why) continue;
    choice.left_out.push_back(fmt::format("{}; {}", notice.text, why));
    return choice;
  }
  for (const ReportProblem& problem : report.problems) {
    choice.ids[problem.key] = problem.id;
    if (is_unneeded(problem)) choice.unneeded.insert(problem.key);
  }
  for (const std::string& id : only)
    if (Status added = add_named(report, id, choice); !added) return added.error();
  if (only.empty()) add_all(report, choice);
  if (choice.corrections.size() < 2) return choice;
  const Correction all = together(report, choice.corrections);
  if (only.empty()) {
    const double least = kWorthProving / 100 * report.whole_s();
    std::erase_if(choice.corrections, [least](const Correction& one) { return one.expected_s < least; });
    if (choice.corrections.size() > kMostAlone) choice.corrections.resize(kMostAlone);
  }
  choice.corrections.insert(choice.corrections.begin(), all);
  return choice;
}

// Two findings may lie at one place.
static void add_site(std::vector<CorrectedSite>& sites, const CorrectedSite& site) {
  for (CorrectedSite& known : sites)
    if (known.key == site.key && known.function == site.function) {
      known.how |= site.how;
      return;
    }
  sites.push_back(site);
}

Status find_sites(const std::filesystem::path& tracing, Choice& choice) {
  std::vector<std::string> keys;
  for (const Correction& one : choice.corrections) keys.insert(keys.end(), one.keys.begin(), one.keys.end());
  Result<CorrectedSites> found = corrected_sites(tracing, keys);
  if (!found) return error("%s", found.error().c_str());
  for (Correction& one : choice.corrections) {
    const size_t findings = one.keys.size();
    std::erase_if(one.keys, [&](const std::string& key) {
      const auto sites = found->find(key);
      if (sites == found->end() || sites->second.empty()) return true;
      for (CorrectedSite& site : sites->second) {
        if (!choice.unneeded.contains(key)) site.how |= kIsNeeded;
        add_site(one.sites, site);
      }
      one.by_key.insert(*sites);
      return false;
    });
    // What the others gain is not proved.
    if (one.keys.size() < findings) one.low_s = 0, one.up_to = true;
  }
  std::erase_if(choice.corrections, [&](const Correction& one) {
    if (one.sites.empty())
      choice.left_out.push_back(
          fmt::format("{} is a call that is not corrected (an allocation, a release of pinned memory)",
                      one.id.empty() ? "what was found" : one.id));
    return one.sites.empty();
  });
  for (Correction& one : choice.corrections)
    if (one.sites.size() > kMostCorrectedSites) one.sites.resize(kMostCorrectedSites);
  return Done{};
}

}  // namespace diogenes::launcher
