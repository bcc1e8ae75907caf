// Findings for code scanning (GitHub, GitLab, editors): SARIF 2.1.0. In: a report. Out: the whole file. A rule a kind
// of problem, a result a problem, at the line to act on; `partialFingerprints` has the source key, so that a finding is
// the same one after a rebuild. Files in the reader's folder are relative to %SRCROOT%, for which the tool that reads
// the file takes its own checkout or workspace; others are absolute. A problem without a file has its function alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "views/exports/exports.h"
#include "views/shared/figures.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWarningPercent = 1;  // of the run time; what saves less is a note

std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with("/") ? "file://" : "";
  for (char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || std::string_view("-._~/+").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

class SarifWriter {
 public:
  SarifWriter(const Report& report, const Reader& reader) : report_(report), reader_(reader) {}

  std::string write() {
    Json results = Json::array();
    for (const ReportProblem& problem : report_.problems) results.push_back(result(problem));
    Json run = {{"tool", {{"driver", driver()}}},
                {"invocations", Json::array({invocation()})},
                {"columnKind", "utf16CodeUnits"}};
    run["results"] = std::move(results);
    run["properties"] = {{"headline", headline(report_, outline(report_))},
                         {"runtime_s", finite(report_.runtime_s)},
                         {"model", report_.model}};
    const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({std::move(run)})}};
    return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  // After results(): it lists the kinds that they have.
  Json driver() const {
    Json rules = Json::array();
    for (const auto& [kind, index] : sorted_rules()) {
      const std::string phrase = kind_phrase(kind);
      rules.push_back({{"id", kind},
                       {"shortDescription", {{"text", phrase}}},
                       {"fullDescription", {{"text", "GPU program: " + phrase}}},
                       {"defaultConfiguration", {{"level", "warning"}}}});
    }
    Json driver = {{"name", "Diogenes"}};
    if (!report_.tool_version.empty()) driver["version"] = report_.tool_version;
    driver["rules"] = std::move(rules);
    return driver;
  }

  std::vector<std::pair<std::string, size_t>> sorted_rules() const {
    std::vector<std::pair<std::string, size_t>> all(rules_.begin(), rules_.end());
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.second < b.second; });
    return all;
  }

  Json invocation() const {
    Json notifications = Json::array();
    auto notify = [&](const char* level, const std::string& code, const std::string& text) {
      notifications.push_back(
          {{"descriptor", {{"id", code}}}, {"level", level}, {"message", {{"text", text}}}});
    };
    for (const std::string& text : report_.incomplete) notify("warning", "not-complete", text);
    for (const std::string& text : proof_warnings(report_, reader_.folder)) notify("warning", "proved", text);
    for (const ReportNotice& notice : report_.notices) notify("note", notice.code, notice.text);
    std::string line;
    for (const std::string& argument : report_.command) line += (line.empty() ? "" : " ") + quoted(argument);
    Json one = {{"executionSuccessful", report_.incomplete.empty()},
                {"commandLine", line},
                {"exitCode", report_.exit_status},
                {"toolExecutionNotifications", std::move(notifications)}};
    return one;
  }

  Json location(const ReportFrame& frame) const {
    Json location = Json::object();
    if (!frame.file.empty()) {
      const std::string path = short_path(frame.file, reader_.folder);
      const bool inside = !path.starts_with("/") && !path.starts_with("../");
      Json artifact = {{"uri", uri_of(inside ? path : frame.file)}};
      if (inside && !reader_.folder.empty()) artifact["uriBaseId"] = "%SRCROOT%";
      Json physical = {{"artifactLocation", std::move(artifact)}};
      if (frame.line > 0) {
        physical["region"] = {{"startLine", frame.line}};
        if (frame.column > 0) physical["region"]["startColumn"] = frame.column;
      }
      location["physicalLocation"] = std::move(physical);
    }
    if (!frame.function.empty())
      location["logicalLocations"] =
          Json::array({{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
    return location;
  }

  Json stack(const std::vector<ReportFrame>& frames, const std::string& title) const {
    Json list = Json::array();
    for (const ReportFrame& frame : frames) {
      const std::string module = frame.module.substr(frame.module.rfind('/') + 1);
      Json one = {{"location", location(frame)}};
      if (!module.empty()) one["module"] = module;
      list.push_back(std::move(one));
    }
    return {{"message", {{"text", title}}}, {"frames", std::move(list)}};
  }

  std::string message(const ReportProblem& problem) const {
    std::string text =
        fmt::format("{}: fixing it saves {} of {} ({}).", finding_phrase({nullptr, {&problem}}),
                    seconds_text(problem.expected_benefit_s), seconds_text(report_.whole_s()),
                    percent_text(problem.expected_benefit_percent));
    if (problem.proved) text += " By diogenes prove: " + proof_details(*problem.proved) + ".";
    if (!problem.why.empty()) text += " Why: " + problem.why + ".";
    if (!problem.fix.empty()) text += " Do: " + problem.fix + ".";
    for (const ReportCondition& condition : problem.conditions)
      if (can_break(condition)) text += " Check: " + condition.text + ".";
    return text;
  }

  Json result(const ReportProblem& problem) {
    const size_t rule = rules_.try_emplace(problem.kind, rules_.size()).first->second;
    Json result = {{"ruleId", problem.kind},
                   {"ruleIndex", rule},
                   {"level", problem.expected_benefit_percent >= kWarningPercent ? "warning" : "note"},
                   {"message", {{"text", message(problem)}}}};
    if (problem.where) {
      Json where = location(*problem.where);
      for (size_t i = 0; i < problem.source.lines.size() && where.contains("physicalLocation"); ++i)
        if (problem.source.first + static_cast<int>(i) == problem.where->line)
          where["physicalLocation"]["region"]["snippet"] = {{"text", problem.source.lines[i]}};
      result["locations"] = Json::array({std::move(where)});
    }
    Json related = Json::array();
    auto relate = [&](const std::vector<ReportFrame>& frames, const char* text) {
      const auto telling = telling_frames(frames, 1);
      if (telling.empty()) return;
      Json one = location(*telling[0]);
      one["message"] = {{"text", text}};
      related.push_back(std::move(one));
    };
    if (problem.first_use) relate(problem.first_use->stack, "the result is used first here");
    relate(problem.duplicate_of, problem.kind == "round-trip-transfer"
                                     ? "the data came from here"
                                     : "the same data was sent here before");
    relate(problem.lost_at, "the data is overwritten or released here");
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (!problem.stack.empty())
      result["stacks"] = Json::array({stack(problem.stack, "the call, innermost frame first")});
    if (!problem.source_key.empty())
      result["partialFingerprints"] = {{"diogenesSourceKey/v1", problem.source_key}};
    result["rank"] = std::clamp(finite(problem.expected_benefit_percent), 0.0, 100.0);
    result["properties"] = {{"id", problem.id},
                            {"expected_benefit_s", finite(problem.expected_benefit_s)},
                            {"count", problem.count},
                            {"waited_s", finite(problem.waited_s)}};
    if (problem.proved) {
      result["properties"]["proved_s"] = finite(problem.proved->seconds);
      result["properties"]["proved_error_s"] = finite(problem.proved->error_s);
    }
    return result;
  }

  const Report& report_;
  const Reader& reader_;
  std::map<std::string, size_t> rules_;
};

}  // namespace

std::string to_sarif(const Report& report, const Reader& reader) {
  return SarifWriter(report, reader).write();
}

}  // namespace diogenes
