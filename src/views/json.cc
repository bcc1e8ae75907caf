#include "views/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order in which the schema lists them

double finite(double value) { return std::isfinite(value) ? value : 0.0; }

Json frames_json(const std::vector<ReportFrame>& stack) {
  Json result = Json::array();
  for (const ReportFrame& frame : stack)
    result.push_back({{"function", frame.function},
                      {"file", frame.file},
                      {"line", frame.line},
                      {"module", frame.module},
                      {"offset", fmt::format("{:#x}", frame.offset)},
                      {"inlined", frame.inlined},
                      {"language", frame.language.empty() ? Json() : Json(frame.language)}});
  return result;
}

void put_range(Json& result, const std::optional<ReportRange>& range) {
  if (!range) return;
  result["expected_benefit_range_s"] = {finite(range->low_s), finite(range->high_s)};
  result["range_reason"] = range->reason.empty() ? Json(nullptr) : Json(range->reason);
  result["models"] = {{"paper", finite(range->paper_s)}, {"replay", finite(range->replay_s)}};
}

Json problem_json(const ReportProblem& problem) {
  Json result;
  result["id"] = problem.id;
  result["key"] = problem.key;
  result["kind"] = problem.kind;
  result["operation"] = problem.operation;
  result["api"] = problem.api.empty() ? Json(nullptr) : Json(problem.api);
  result["count"] = problem.count;
  result["instances"] = problem.instances;
  result["waited_s"] = finite(problem.waited_s);
  result["call_s"] = finite(problem.call_s);
  result["bytes"] = problem.bytes;
  result["expected_benefit_s"] = finite(problem.expected_benefit_s);
  result["expected_benefit_percent"] = finite(problem.expected_benefit_percent);
  put_range(result, problem.range);
  result["first_use"] = nullptr;
  if (problem.first_use)
    result["first_use"] = {{"after_s", finite(problem.first_use->after_s)},
                           {"stack", frames_json(problem.first_use->stack)}};
  result["duplicate_of"] = nullptr;
  if (!problem.duplicate_of.empty()) result["duplicate_of"] = {{"stack", frames_json(problem.duplicate_of)}};
  result["lost_at"] = nullptr;
  if (!problem.lost_at.empty()) result["lost_at"] = {{"stack", frames_json(problem.lost_at)}};
  result["conditions"] = problem.conditions;
  result["fix"] = problem.fix;
  result["stack"] = frames_json(problem.stack);
  return result;
}

Json group_json(const ReportGroup& group) {
  Json result = {{"id", group.id},
                 {"grouping", group.grouping},
                 {"title", group.title},
                 {"expected_benefit_s", finite(group.expected_benefit_s)},
                 {"expected_benefit_percent", finite(group.expected_benefit_percent)}};
  put_range(result, group.range);
  result["synchronization_issues"] = group.synchronization_issues;
  result["transfer_issues"] = group.transfer_issues;
  result["members"] = group.members;
  return result;
}

Json driver_json(const Report& report) {
  Json waits = Json::array();
  for (const ReportWaitFunction& wait : report.wait_functions)
    waits.push_back(
        {{"offset", fmt::format("{:#x}", wait.offset)}, {"agreed", wait.agreed}, {"known", wait.known}});
  return {{"path", report.driver_path},
          {"build_id", report.driver_build_id},
          {"version", report.driver_version},
          {"simulated", report.simulated},
          {"wait_functions", std::move(waits)}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json result;
  result["schema"] = "diogenes-report/1";
  result["model"] = report.model;
  result["application"] = {{"command", report.command},
                           {"exit_status", report.exit_status},
                           {"runtime_s", finite(report.runtime_s)}};
  result["driver"] = driver_json(report);
  result["device"] = {{"name", report.device_name}, {"compute_capability", report.compute_capability}};
  result["stages"] = Json::array();
  for (const ReportStage& stage : report.stages)
    result["stages"].push_back(
        {{"name", stage.name}, {"runtime_s", finite(stage.runtime_s)}, {"overhead", finite(stage.overhead)}});
  result["totals"] = {{"synchronizations", report.synchronizations},
                      {"transfers", report.transfers},
                      {"waited_s", finite(report.waited_s)},
                      {"transferred_bytes", report.transferred_bytes}};
  result["functions"] = Json::array();
  for (const ReportFunction& function : report.functions)
    result["functions"].push_back({{"operation", function.operation},
                                   {"count", function.count},
                                   {"call_s", finite(function.call_s)},
                                   {"waited_s", finite(function.waited_s)},
                                   {"expected_benefit_s", finite(function.expected_benefit_s)}});
  result["problems"] = Json::array();
  for (const ReportProblem& problem : report.problems) result["problems"].push_back(problem_json(problem));
  result["groups"] = Json::array();
  for (const ReportGroup& group : report.groups) result["groups"].push_back(group_json(group));
  result["together"] = nullptr;
  if (report.together) {
    result["together"] = {{"expected_benefit_s", finite(report.together->expected_benefit_s)},
                          {"expected_benefit_percent", finite(report.together->expected_benefit_percent)}};
    put_range(result["together"], report.together->range);
  }
  result["notices"] = report.notices;
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace diogenes
