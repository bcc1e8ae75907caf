// What the page's script needs, as JSON that can stand inside a page: web/data.ts reads it. In: a report and its
// outline. Out: JSON without `<`. Times of the timeline are whole numbers of 10 ns, each begin as the distance from
// the one before.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "views/exports/exports.h"
#include "views/exports/stacks.h"
#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/kernel_words.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnit = 1e-8;      // seconds
constexpr size_t kShortPlace = 60;  // characters

int64_t units(double seconds) { return std::isfinite(seconds) ? std::llround(seconds / kUnit) : 0; }

// Which finding, counted from 1, a problem is in.
std::map<const ReportProblem*, size_t> finding_of(const Outline& outline) {
  std::map<const ReportProblem*, size_t> numbers;
  for (size_t i = 0; i < outline.findings.size(); ++i)
    for (const ReportProblem* problem : outline.findings[i].problems) numbers[problem] = i + 1;
  return numbers;
}

Json problems_json(const Report& report, const Outline& outline, const Reader& reader) {
  const auto numbers = finding_of(outline);
  Json list = Json::array();
  for (const ReportProblem& problem : report.problems) {
    auto number = numbers.find(&problem);
    list.push_back({{"id", problem.id},
                    {"phrase", finding_phrase({nullptr, {&problem}})},
                    {"where", where_text(problem.where, reader.folder, kShortPlace)},
                    {"saves", seconds_text(problem.expected_benefit_s)},
                    {"finding", number == numbers.end() ? "" : "f" + std::to_string(number->second)}});
  }
  return list;
}

Json required_json(const Report& report) {
  Json list = Json::array();
  for (size_t i = 0; i < report.required.size(); ++i) {
    const ReportRequired& required = report.required[i];
    list.push_back(
        {{"id", required.id}, {"call", required_phrase(required)}, {"element", "r" + std::to_string(i + 1)}});
  }
  return list;
}

Json flame_json(const Report& report) {
  Json list = Json::array();
  for (size_t i = 0; i < report.problems.size(); ++i) {
    const double gain = report.problems[i].expected_benefit_s * 1e6;
    if (!std::isfinite(gain) || gain <= 0) continue;
    list.push_back({{"frames", flame_frames(report.problems[i])}, {"us", gain}, {"problem", i}});
  }
  return list;
}

Json lane_json(const ReportLane& lane) {
  Json begin = Json::array(), length = Json::array(), busy = Json::array(), waited = Json::array(),
       count = Json::array(), what = Json::array(), mark = Json::array();
  int64_t last = 0;
  for (const ReportInterval& one : lane.intervals) {
    const int64_t at = units(one.begin_s);
    begin.push_back(at - last);
    last = at;
    length.push_back(std::max<int64_t>(units(one.end_s) - at, 0));
    busy.push_back(one.count > 1 ? units(one.busy_s) : 0);
    waited.push_back(units(one.waited_s));
    count.push_back(one.count);
    what.push_back(one.name);
    mark.push_back(one.problem >= 0 ? one.problem + 1 : one.required >= 0 ? -(one.required + 1) : 0);
  }
  return {{"kind", lane.kind == ReportLane::Kind::thread ? "thread" : "stream"},
          {"process", lane.process},
          {"name", lane.name},
          {"events", lane.events},
          {"begin", std::move(begin)},
          {"length", std::move(length)},
          {"busy", std::move(busy)},
          {"waited", std::move(waited)},
          {"count", std::move(count)},
          {"what", std::move(what)},
          {"mark", std::move(mark)}};
}

Json timeline_json(const Report& report) {
  if (!report.timeline) return nullptr;
  const ReportTimeline& timeline = *report.timeline;
  Json lanes = Json::array();
  for (const ReportLane& lane : timeline.lanes) lanes.push_back(lane_json(lane));
  Json full = Json::array();
  for (double begin : timeline.full_at_s) full.push_back(units(begin));
  return {{"unit_ns", kUnit * 1e9},          {"duration", units(timeline.duration_s)},
          {"names", timeline.names},         {"processes", timeline.processes},
          {"gpu_times", timeline.gpu_times}, {"events", timeline.events},
          {"merged", timeline.merged},       {"merged_below", units(timeline.merged_below_s)},
          {"full", std::move(full)},         {"full_length", units(timeline.full_length_s)},
          {"lanes", std::move(lanes)}};
}

// Columns, for there may be 20,000 contexts. Texts are positions in `texts`; times are whole nanoseconds.
Json profile_json(const Report& report, const Reader& reader) {
  if (!report.profile) return nullptr;
  Json texts = Json::array({""});
  std::map<std::string, size_t> numbers = {{"", 0}};
  const auto text = [&](const std::string& words) {
    const auto [found, added] = numbers.emplace(words, texts.size());
    if (added) texts.push_back(words);
    return found->second;
  };
  std::map<std::string, Json> columns;
  const std::vector<ReportContext>& contexts = report.profile->contexts;
  for (const ReportContext& one : contexts) {
    const auto put = [&](const char* column, const Json& value) { columns[column].push_back(value); };
    const ReportFrame frame = frame_of(one);
    // Of a call, where it is made; of a function, where it begins.
    const bool call = one.kind == ReportContext::Kind::call && one.parent < contexts.size();
    std::string place = short_path(call ? contexts[one.parent].file : frame.file, reader.folder);
    const int line = call ? one.called_line : frame.line;
    if (!place.empty() && line > 0) place += fmt::format(":{}", line);
    if (place.empty()) place = frame.module;
    put("parent", one.parent);
    put("kind", static_cast<int>(one.kind));
    put("name", text(context_name(one)));
    // Loops and lines have it for a name.
    const bool is_place =
        one.kind == ReportContext::Kind::gpu_loop || one.kind == ReportContext::Kind::gpu_line;
    put("place", text(is_place ? "" : place + (one.estimated ? " (estimated)" : "")));
    put("why", text(main_reason(*report.profile, one)));
    put("called", std::max(one.called_line, 0));
    put("own", one.owner == FrameOwner::application);
    put("count", one.count);
    put("cpu", nanoseconds(one.cpu_s));
    put("driver", nanoseconds(one.driver_s));
    put("waited", nanoseconds(one.waited_s));
    put("idle", nanoseconds(one.idle_s));
    put("gpu", nanoseconds(one.gpu_s));
    put("recoverable", nanoseconds(one.recoverable_s));
    put("gain", nanoseconds(one.half_gain_s.value_or(0)));
    put("most_gain", nanoseconds(one.none_gain_s.value_or(0)));
    put("threads", one.threads);
    put("work", one.work);
    for (const auto& [column, least, most] : {std::tuple{"cpu_ranks", one.cpu_least_s, one.cpu_most_s},
                                              std::tuple{"gpu_ranks", one.gpu_least_s, one.gpu_most_s}})
      if (nanoseconds(least) != nanoseconds(most))
        columns[column].push_back(
            {columns["parent"].size() - 1, seconds_text(finite(least)), seconds_text(finite(most))});
  }
  Json json = {{"texts", std::move(texts)}, {"work_shown", report.profile->work.size()}};
  for (auto& [column, values] : columns) json[column] = std::move(values);
  return json;
}

}  // namespace

std::string html_data(const Report& report, const Outline& outline, const Reader& reader) {
  const Json all = {{"problems", problems_json(report, outline, reader)},
                    {"required", required_json(report)},
                    {"flame", flame_json(report)},
                    {"profile", profile_json(report, reader)},
                    {"timeline", timeline_json(report)}};
  const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (char c : text) {
    if (c == '<')
      safe += "\\u003c";  // `</script>` would end the data
    else
      safe += c;
  }
  return safe;
}

}  // namespace diogenes
