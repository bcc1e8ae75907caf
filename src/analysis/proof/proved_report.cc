#include "analysis/proof/proved_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "analysis/report/kept_report.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

bool is_wait(const ReportProblem& problem) {
  return problem.kind == "unnecessary-synchronization" || problem.kind == "misplaced-synchronization";
}

std::set<std::string> set_of(const std::vector<std::string>& keys) { return {keys.begin(), keys.end()}; }

struct Expected {
  double seconds = 0, low_s = 0, high_s = 0;
  bool up_to = false;
};

Expected expected_of(const ReportRequired& required) {
  return {required.up_to_s, 0, required.range ? required.range->high_s : required.up_to_s, true};
}

template <typename Finding>
Expected expected_of(const Finding& finding) {
  const ReportRange range =
      finding.range.value_or(ReportRange{finding.expected_benefit_s, finding.expected_benefit_s});
  return {finding.expected_benefit_s, range.low_s, range.high_s};
}

ReportProved proved_of(const ProvedSession& proved, const ProvedCorrection& one, const Expected& expected,
                       double whole_s) {
  auto percent = [&](double seconds) { return whole_s > 0 ? 100 * seconds / whole_s : 0; };
  auto of_a_run = [&](uint64_t count) {
    const uint64_t runs = std::max<uint64_t>(one.differences_s.size(), 1);
    return count / runs + (count % runs * 2 >= runs);
  };
  ReportProved out;
  out.expected_s = expected.seconds, out.expected_percent = percent(expected.seconds);
  out.up_to = expected.up_to;
  out.seconds = one.proved_s, out.percent = percent(one.proved_s);
  out.error_s = one.error_s, out.error_percent = percent(one.error_s);
  out.error_is_known = one.differences_s.size() > 1;
  out.calls = of_a_run(one.calls), out.applied = of_a_run(one.applied);
  out.as_expected = !says_something(one) || meets_expected(one, proved.most_hidden_s(one), expected.seconds,
                                                           expected.low_s, expected.high_s);
  out.correcting_s = one.correcting_s, out.correcting_percent = percent(one.correcting_s);
  out.too_dear = is_too_dear(one);
  out.difference = one.difference;
  return out;
}

// Moves findings out of the report, and makes its sums anew.
class Withdrawal {
 public:
  Withdrawal(const std::set<std::string>& allowed, const TogetherOf& together_of, Report& report)
      : allowed_(allowed), together_of_(together_of), report_(report) {}

  void withdraw(const std::vector<WithdrawnKey>& keys) {
    move_problems(keys);
    move_required(keys);
    if (ids_.empty()) return;
    change_groups();
    for (const std::string& operation : operations_) change_function(operation);
    change_together();
  }

 private:
  static const WithdrawnKey* find(const std::vector<WithdrawnKey>& keys, const std::string& key) {
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const WithdrawnKey& one) { return one.key == key; });
    return found == keys.end() ? nullptr : &*found;
  }

  // `move(item, reason)` each that is withdrawn. Out: the new position of each, by the old one; -1: none.
  template <typename Item, typename Move>
  static std::vector<int32_t> take_out(std::vector<Item>& items, const std::vector<WithdrawnKey>& keys,
                                       Move move) {
    std::vector<int32_t> positions;
    std::vector<Item> stay;
    for (Item& item : items) {
      const WithdrawnKey* withdrawn = find(keys, item.key);
      positions.push_back(withdrawn ? -1 : static_cast<int32_t>(stay.size()));
      if (withdrawn)
        move(item, withdrawn->reason);
      else
        stay.push_back(std::move(item));
    }
    items = std::move(stay);
    return positions;
  }

  template <int32_t ReportInterval::*kPosition>
  void change_timeline(const std::vector<int32_t>& positions) {
    if (!report_.timeline) return;
    for (ReportLane& lane : report_.timeline->lanes)
      for (ReportInterval& interval : lane.intervals) {
        int32_t& position = interval.*kPosition;
        if (position >= 0) position = positions.at(static_cast<size_t>(position));
      }
  }

  void move_problems(const std::vector<WithdrawnKey>& keys) {
    change_timeline<&ReportInterval::problem>(
        take_out(report_.problems, keys, [&](ReportProblem& problem, const std::string& reason) {
          ids_.push_back(problem.id);
          operations_.insert(problem.operation);
          report_.proof->withdrawn.push_back({std::move(problem), reason});
        }));
  }

  void move_required(const std::vector<WithdrawnKey>& keys) {
    change_timeline<&ReportInterval::required>(
        take_out(report_.required, keys, [&](ReportRequired& required, const std::string& reason) {
          report_.required_together.reset();
          ReportProblem finding;
          finding.id = required.id, finding.key = required.key, finding.source_key = required.source_key;
          finding.kind = "needed-wait";
          finding.operation = required.operation, finding.api = required.api, finding.via = required.via;
          finding.count = required.count, finding.instances = required.instances;
          finding.waited_s = required.waited_s, finding.call_s = required.call_s;
          finding.expected_benefit_s = required.up_to_s;
          finding.expected_benefit_percent = required.up_to_percent;
          finding.where = required.where, finding.stack = required.stack;
          report_.proof->withdrawn.push_back({std::move(finding), reason});
        }));
  }

  // A withdrawn finding is a wait that may be needed, and ends a sequence.
  void change_groups() {
    std::erase_if(report_.groups, [&](ReportGroup& group) {
      const size_t before = group.members.size();
      std::erase_if(group.members, [&](const std::string& id) { return contains(ids_, id); });
      if (group.members.size() == before) return false;
      if (group.grouping.ends_with("sequence") || group.members.empty()) return true;
      if (group.members.size() == 1 && group.grouping != "single-point") return true;
      const ReportTogether figure = together_of_(group.members);
      group.expected_benefit_s = figure.expected_benefit_s;
      group.expected_benefit_percent = figure.expected_benefit_percent;
      group.range = figure.range;
      group.synchronization_issues = group.transfer_issues = 0;
      for (const ReportProblem& problem : report_.problems)
        if (contains(group.members, problem.id))
          ++(is_wait(problem) ? group.synchronization_issues : group.transfer_issues);
      return false;
    });
  }

  void change_function(const std::string& operation) {
    std::vector<std::string> ids;
    for (const ReportProblem& problem : report_.problems)
      if (problem.operation == operation) ids.push_back(problem.id);
    for (ReportFunction& function : report_.functions)
      if (function.operation == operation)
        function.expected_benefit_s = ids.empty() ? 0 : together_of_(ids).expected_benefit_s;
  }

  void change_together() {
    std::vector<std::string> ids;
    for (const ReportProblem& problem : report_.problems)
      if (!allowed_.contains(problem.source_key)) ids.push_back(problem.id);
    const double before = report_.together ? report_.together->expected_benefit_s : 0;
    report_.together.reset();
    if (!ids.empty()) report_.together = together_of_(ids);
    const double now = report_.together ? report_.together->expected_benefit_s : 0;
    // The loop's share of what is gained is taken to stay.
    if (report_.main_loop) report_.main_loop->expected_benefit_s *= before > 0 ? now / before : 0;
  }

  const std::set<std::string>& allowed_;
  const TogetherOf& together_of_;
  Report& report_;
  std::vector<std::string> ids_;
  std::set<std::string> operations_;
};

void add_to_findings(const ProvedSession& proved, const ProvedCorrection& one, Report& report) {
  const double whole_s = report.whole_s();
  // A needed wait has a key for each of its line's calls that wait.
  const bool needed = one.id.starts_with("R");
  if (needed || (one.keys.size() == 1 && !one.id.starts_with("G"))) {
    for (ReportProblem& problem : report.problems)
      if (problem.key == one.keys[0]) problem.proved = proved_of(proved, one, expected_of(problem), whole_s);
    for (ReportRequired& required : report.required)
      if (std::any_of(required.calls.begin(), required.calls.end(),
                      [&](const ReportRequiredCall& call) { return call.key == one.keys[0]; }))
        required.proved = proved_of(proved, one, expected_of(required), whole_s);
    return;
  }
  const std::set<std::string> keys = set_of(one.keys);
  for (ReportGroup& group : report.groups) {
    std::set<std::string> members;
    for (const ReportProblem& problem : report.problems)
      if (contains(group.members, problem.id)) members.insert(problem.key);
    if (!std::includes(members.begin(), members.end(), keys.begin(), keys.end())) continue;
    // Some of its findings may be calls that are not corrected.
    const bool partly = members != keys;
    if (partly && group.id != one.id) continue;
    Expected expected = expected_of(group);
    if (partly) expected.low_s = 0, expected.up_to = true;
    group.proved = proved_of(proved, one, expected, whole_s);
  }
}

// Of all together: by the report, where it is all that it has; else what it said then, by the same model.
void add_to_all(const ProvedSession& proved, const ProvedCorrection& one, Report& report) {
  const std::set<std::string> keys = set_of(one.keys);
  if (std::any_of(report.proof->withdrawn.begin(), report.proof->withdrawn.end(),
                  [&](const ReportWithdrawn& withdrawn) { return keys.contains(withdrawn.finding.key); }))
    return;
  const bool whole = report.together && !report.problems.empty() && keys.size() == report.problems.size() &&
                     std::all_of(report.problems.begin(), report.problems.end(),
                                 [&](const ReportProblem& problem) { return keys.contains(problem.key); });
  if (!whole && proved.model != report.model) return;
  Expected expected{one.expected_s, one.low_s, one.high_s, one.up_to};
  if (whole)
    expected = {report.together->expected_benefit_s, report.together->range.low_s,
                report.together->range.high_s};
  report.proof->together = proved_of(proved, one, expected, report.whole_s());
  report.proof->findings = keys.size();
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct FoundProof {
  std::optional<ProvedSession> proved;
  std::string notice;  // why it is not used
};

FoundProof find_proof(const fs::path& session) {
  std::error_code failed;
  const fs::path file = session / kProvedFile;
  if (!fs::exists(file, failed)) return {};
  const auto left_out = [](const char* why) {
    return FoundProof{
        {}, fmt::format("what was proved is left out: {} {}; run `diogenes prove` again", kProvedFile, why)};
  };
  Result<ProvedSession> proved = proved_from_json(content(file));
  if (!proved) return left_out(proved.error().c_str());
  const Result<Session> measured = read_session(session);
  if (!measured || measured->started_ns != proved->session_started_ns)
    return left_out("is of another measurement than the session");
  return {std::move(*proved), ""};
}

void add(const FoundProof& found, const AnalysisOptions& options, const TogetherOf& together_of,
         Report& report) {
  if (!found.notice.empty()) report.notices.push_back({"proved-left-out", found.notice});
  if (found.proved) add_proof(*found.proved, options.allowed, together_of, report);
}

TogetherOf together_by(const Estimator& estimator) {
  return [&estimator](const std::vector<std::string>& problems) {
    const Result<ReportTogether> figure = estimator.together(problems);
    return figure ? *figure : ReportTogether{};
  };
}

bool withdraws(const FoundProof& found) { return found.proved && !withdrawn_keys(*found.proved).empty(); }

}  // namespace

void add_proof(const ProvedSession& proved, const std::set<std::string>& allowed,
               const TogetherOf& together_of, Report& report) {
  report.proof = ReportProof{.runtime_s = proved.runtime_s,
                             .pairs = proved.pairs,
                             .from_first_call = proved.from_first_call,
                             .own_cost_s = proved.own_cost_s,
                             .own_cost_error_s = proved.own_cost_error_s,
                             .together = {},
                             .findings = 0,
                             .left_out = proved.left_out,
                             .withdrawn = {}};
  Withdrawal(allowed, together_of, report).withdraw(withdrawn_keys(proved));
  for (const ProvedCorrection& one : proved.corrections) {
    if (one.id.empty())
      add_to_all(proved, one, report);
    else
      add_to_findings(proved, one, report);
  }
}

Result<Report> analyse_proved(const fs::path& session, const AnalysisOptions& options) {
  const FoundProof found = find_proof(session);
  if (withdraws(found)) {
    Result<Estimator> estimator = Estimator::make(session, options);
    if (!estimator) return estimator.error();
    Report report = estimator->report();
    add(found, options, together_by(*estimator), report);
    return report;
  }
  Result<Report> report = analyse(session, options);
  if (report) add(found, options, {}, *report);
  return report;
}

std::optional<Report> read_kept_proved(const fs::path& session, const AnalysisOptions& options) {
  const FoundProof found = find_proof(session);
  if (withdraws(found)) return std::nullopt;
  std::optional<Report> report = read_kept_report(session, options);
  if (report) add(found, options, {}, *report);
  return report;
}

Report proved_report(const fs::path& session, const AnalysisOptions& options, const Estimator& estimator) {
  Report report = estimator.report();
  add(find_proof(session), options, together_by(estimator), report);
  return report;
}

}  // namespace diogenes
