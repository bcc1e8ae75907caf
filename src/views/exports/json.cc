// The report as JSON, schema diogenes-report/2: one sentence a key in
// docs/report-schema.json. The keys' meaning never changes under this name; keys may be added. Ends in a
// newline. What is no UTF-8 (paths, arguments) has U+FFFD in its place; a figure that is no finite number is
// 0.
#include <fmt/format.h>

#include "views/exports/exports.h"
#include "views/exports/json_parts.h"

namespace diogenes {
namespace {

Json number_or_null(int number) { return number > 0 ? Json(number) : Json(nullptr); }

Json frame_json(const ReportFrame& frame) {
  return {{"function", text_or_null(frame.function)},
          {"file", text_or_null(frame.file)},
          {"line", number_or_null(frame.line)},
          {"column", number_or_null(frame.column)},
          {"module", text_or_null(frame.module)},
          {"offset", fmt::format("{:#x}", frame.offset)},
          {"inlined", frame.inlined},
          {"owner", owner_name(frame.owner)},
          {"language", text_or_null(frame.language)},
          {"waits", frame.waits}};
}

}  // namespace

const char* owner_name(FrameOwner owner) {
  switch (owner) {
    case FrameOwner::application:
      return "application";
    case FrameOwner::library:
      return "library";
    case FrameOwner::runtime:
      return "runtime";
  }
  return "application";
}

Json frames_json(const std::vector<ReportFrame>& stack) {
  Json result = Json::array();
  for (const ReportFrame& frame : stack) result.push_back(frame_json(frame));
  return result;
}

Json where_json(const std::optional<ReportFrame>& where) {
  return where ? frame_json(*where) : Json(nullptr);
}

namespace {

Json value_json(const std::optional<ReportValue>& value) {
  if (!value) return nullptr;
  Json uses = Json::array();
  for (const ReportValueUse& use : value->uses)
    uses.push_back({{"use", use.use},
                    {"count", use.count},
                    {"after_s", use.after_s ? Json(finite(*use.after_s)) : Json(nullptr)},
                    {"stack", frames_json(use.stack)}});
  return {{"followed", value->followed},
          {"of", value->instances},
          {"copied", value->copied},
          {"converted", value->converted},
          {"computed", value->computed},
          {"later", value->later},
          {"elsewhere", value->elsewhere},
          {"uses", uses},
          {"moved_up_to_s", value->moved_up_to_s ? Json(finite(*value->moved_up_to_s)) : Json(nullptr)}};
}

Json use_json(const std::optional<ReportUse>& use) {
  if (!use) return nullptr;
  return {{"after_s", use->after_s ? Json(finite(*use->after_s)) : Json(nullptr)},
          {"stack", frames_json(use->stack)},
          {"value", value_json(use->value)}};
}

Json counts_json(const std::vector<std::pair<std::string, uint64_t>>& counts) {
  Json result = Json::array();
  for (const auto& [code, count] : counts) result.push_back({{"code", code}, {"count", count}});
  return result;
}

void put_range(Json& result, const std::optional<ReportRange>& range,
               const char* name = "expected_benefit_range_s") {
  if (!range) return;
  result[name] = {finite(range->low_s), finite(range->high_s)};
  result["range_reason"] = range->reason.empty() ? Json(nullptr) : Json(range->reason);
  result["models"] = {{"paper", finite(range->paper_s)}, {"replay", finite(range->replay_s)}};
}

Json processes_json(const std::vector<ReportProcess>& processes) {
  Json result = Json::array();
  for (const ReportProcess& process : processes)
    result.push_back({{"rank", process.rank ? Json(*process.rank) : Json(nullptr)},
                      {"pid", process.pid},
                      {"host", text_or_null(process.host)},
                      {"executable", text_or_null(process.executable)}});
  return result;
}

Json occurrences_json(const std::vector<ReportOccurrence>& occurrences) {
  Json result = Json::array();
  for (const ReportOccurrence& one : occurrences) {
    Json threads = Json::array();
    for (const ReportOccurrence::Thread& thread : one.threads)
      threads.push_back({{"thread", thread.ordinal}, {"main", thread.main}, {"count", thread.count}});
    result.push_back({{"process", one.process},
                      {"count", one.count},
                      {"thread_count", one.thread_count},
                      {"threads", std::move(threads)}});
  }
  return result;
}

Json proved_json(const ReportProved& proved) {
  return {{"expected_benefit_s", finite(proved.expected_s)},
          {"up_to", proved.up_to},
          {"benefit_s", finite(proved.seconds)},
          {"benefit_percent", finite(proved.percent)},
          {"error_s", proved.error_is_known ? Json(finite(proved.error_s)) : Json()},
          {"error_percent", proved.error_is_known ? Json(finite(proved.error_percent)) : Json()},
          {"calls", proved.calls},
          {"applied", proved.applied},
          {"correcting_s", finite(proved.correcting_s)},
          {"as_expected", proved.as_expected},
          {"too_dear", proved.too_dear},
          {"results_equal", proved.difference.empty()},
          {"difference", text_or_null(proved.difference)}};
}

// The key is there where something was proved.
void put_proved(Json& result, const std::optional<ReportProved>& proved) {
  if (proved) result["proved"] = proved_json(*proved);
}

Json withdrawn_json(const ReportWithdrawn& withdrawn) {
  const ReportProblem& finding = withdrawn.finding;
  return {{"id", finding.id},
          {"key", finding.key},
          {"source_key", finding.source_key},
          {"kind", finding.kind},
          {"operation", finding.operation},
          {"api", text_or_null(finding.api)},
          {"where", where_json(finding.where)},
          {"expected_benefit_s", finite(finding.expected_benefit_s)},
          {"reason", withdrawn.reason}};
}

void put_proof(Json& result, const std::optional<ReportProof>& proof) {
  if (!proof) return;
  Json out = {{"runtime_s", finite(proof->runtime_s)},
              {"pairs", proof->pairs},
              {"from_first_call", proof->from_first_call},
              {"own_cost_s", finite(proof->own_cost_s)},
              {"own_cost_error_s", finite(proof->own_cost_error_s)}};
  out["together"] = proof->together ? proved_json(*proof->together) : Json(nullptr);
  out["findings"] = proof->findings;
  out["left_out"] = proof->left_out;
  out["withdrawn"] = Json::array();
  for (const ReportWithdrawn& one : proof->withdrawn) out["withdrawn"].push_back(withdrawn_json(one));
  result["proof"] = std::move(out);
}

Json problem_json(const ReportProblem& problem) {
  Json result;
  result["id"] = problem.id;
  result["key"] = problem.key;
  result["source_key"] = problem.source_key;
  result["kind"] = problem.kind;
  result["operation"] = problem.operation;
  result["api"] = problem.api.empty() ? Json(nullptr) : Json(problem.api);
  result["count"] = problem.count;
  result["instances"] = problem.instances;
  result["occurrences"] = occurrences_json(problem.occurrences);
  result["waited_s"] = finite(problem.waited_s);
  result["call_s"] = finite(problem.call_s);
  result["bytes"] = problem.bytes;
  result["expected_benefit_s"] = finite(problem.expected_benefit_s);
  result["expected_benefit_percent"] = finite(problem.expected_benefit_percent);
  put_range(result, problem.range);
  put_proved(result, problem.proved);
  result["where"] = where_json(problem.where);
  result["via"] = text_or_null(problem.via);
  result["why"] = problem.why;
  result["first_use"] = use_json(problem.first_use);
  result["duplicate_of"] = nullptr;
  if (!problem.duplicate_of.empty()) result["duplicate_of"] = {{"stack", frames_json(problem.duplicate_of)}};
  result["lost_at"] = nullptr;
  if (!problem.lost_at.empty()) result["lost_at"] = {{"stack", frames_json(problem.lost_at)}};
  result["conditions"] = Json::array();
  for (const ReportCondition& condition : problem.conditions)
    result["conditions"].push_back({{"code", condition.code}, {"text", condition.text}});
  result["fix"] = problem.fix;
  result["source"] = nullptr;
  if (!problem.source.lines.empty())
    result["source"] = {{"first_line", problem.source.first}, {"lines", problem.source.lines}};
  result["stack"] = frames_json(problem.stack);
  return result;
}

Json required_json(const ReportRequired& required) {
  Json calls = Json::array();
  for (const ReportRequiredCall& call : required.calls)
    calls.push_back({{"operation", call.operation},
                     {"api", text_or_null(call.api)},
                     {"count", call.count},
                     {"waits", call.waits}});
  Json result = {
      {"id", required.id},
      {"key", required.key},
      {"source_key", required.source_key},
      {"operation", required.operation},
      {"api", text_or_null(required.api)},
      {"count", required.count},
      {"instances", required.instances},
      {"not_judged", required.not_judged},
      {"queries", required.queries},
      {"launches", required.launches},
      {"in_a_row", required.in_a_row},
      {"turns", required.turns},
      {"loops", required.loops},
      {"in_parts", required.in_parts},
      {"part", text_or_null(required.part)},
      {"between_s", required.between_s},
      {"work_s", required.work_s},
      {"at_most_s", required.at_most_s},
      {"waits_gain_s", required.waits_gain_s},
      {"sends", required.sends},
      {"made_s", required.made_s},
      {"bytes", required.bytes},
      {"unused_bytes", required.unused_bytes},
      {"without_unused_s", required.without_unused_s},
      {"occurrences", occurrences_json(required.occurrences)},
      {"waited_s", finite(required.waited_s)},
      {"call_s", finite(required.call_s)},
      {"calls", std::move(calls)},
      {"up_to_s", finite(required.up_to_s)},
      {"up_to_percent", finite(required.up_to_percent)},
      {"where", where_json(required.where)},
      {"via", text_or_null(required.via)},
      {"reasons", counts_json(required.reasons)},
      {"used_for", text_or_null(required.used_for)},
      {"fix", required.fix},
      {"used_by", use_json(required.used_by)},
      {"same_value",
       required.values > 0 ? Json{{"count", required.same_value}, {"of", required.values}} : Json(nullptr)},
      {"stack", frames_json(required.stack)}};
  put_range(result, required.range, "up_to_range_s");
  put_proved(result, required.proved);
  return result;
}

Json group_json(const ReportGroup& group) {
  Json result = {{"id", group.id},
                 {"grouping", group.grouping},
                 {"title", group.title},
                 {"expected_benefit_s", finite(group.expected_benefit_s)},
                 {"expected_benefit_percent", finite(group.expected_benefit_percent)}};
  put_range(result, group.range);
  put_proved(result, group.proved);
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
  result["schema"] = "diogenes-report/2";
  result["model"] = report.model;
  result["tool"] = {{"version", report.tool_version}};
  result["started"] = text_or_null(report.started);
  result["complete"] = report.incomplete.empty();
  result["judged"] = report.judged;
  result["incomplete"] = report.incomplete;
  result["coverage"] = {{"synchronizations", report.coverage.synchronizations},
                        {"judged", report.coverage.judged},
                        {"not_judged", counts_json(report.coverage.not_judged)}};
  result["application"] = {
      {"command", report.command},
      {"exit_status", report.exit_status},
      {"runtime_s", finite(report.runtime_s)},
      {"gpu_phase_s", report.gpu_phase_s > 0 ? Json(finite(report.gpu_phase_s)) : Json(nullptr)},
      {"gpu_in_use_s", report.gpu_in_use_s > 0 ? Json(finite(report.gpu_in_use_s)) : Json(nullptr)},
      {"part", report.part ? Json{{"marks", report.part->marks},
                                  {"times", report.part->times},
                                  {"seconds", finite(report.part->seconds)}}
                           : Json(nullptr)},
      {"window", report.window ? Json{{"number", report.window->number},
                                      {"count", report.window->count},
                                      {"after_s", finite(report.window->after_s)},
                                      {"seconds", finite(report.window->seconds)},
                                      {"slowdown",
                                       report.window->slowdown > 0 ? Json(report.window->slowdown) : Json()}}
                               : Json(nullptr)}};
  result["driver"] = driver_json(report);
  result["device"] = {{"name", report.device_name}, {"compute_capability", report.compute_capability}};
  result["processes"] = processes_json(report.processes);
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
  result["required"] = Json::array();
  for (const ReportRequired& required : report.required)
    result["required"].push_back(required_json(required));
  result["groups"] = Json::array();
  for (const ReportGroup& group : report.groups) result["groups"].push_back(group_json(group));
  result["together"] = nullptr;
  if (report.together) {
    result["together"] = {{"expected_benefit_s", finite(report.together->expected_benefit_s)},
                          {"expected_benefit_percent", finite(report.together->expected_benefit_percent)}};
    put_range(result["together"], report.together->range);
  }
  result["required_together"] = nullptr;
  if (report.required_together) {
    result["required_together"] = {
        {"up_to_s", finite(report.required_together->expected_benefit_s)},
        {"up_to_percent", finite(report.required_together->expected_benefit_percent)}};
    put_range(result["required_together"], report.required_together->range, "up_to_range_s");
  }
  result["main_loop"] = report.main_loop ? Json{{"iterations", report.main_loop->iterations},
                                                {"calls", report.main_loop->calls},
                                                {"expected_benefit_s", report.main_loop->expected_benefit_s},
                                                {"seconds", report.main_loop->seconds}}
                                         : Json(nullptr);
  put_proof(result, report.proof);
  result["profile"] = profile_json(report.profile);
  result["notices"] = Json::array();
  for (const ReportNotice& notice : report.notices)
    result["notices"].push_back({{"code", notice.code}, {"text", notice.text}});
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace diogenes
