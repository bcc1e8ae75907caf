// Where time goes for speedscope.app. In: a report. Out: the whole file. It has a profile of the time of threads and one
// of GPU work, each a sample a context, as long as that context takes without those it calls. Source: speedscope's wiki,
// 'Importing from custom sources'.
#include <map>
#include <nlohmann/json.hpp>

#include "views/exports/exports.h"
#include "views/exports/stacks.h"
#include "views/shared/phrases.h"

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;

class SpeedscopeWriter {
 public:
  explicit SpeedscopeWriter(const Report& report) : report_(report) {
    if (report.profile) contexts_ = &report.profile->contexts;
  }

  std::string write() {
    for (const ReportContext& context : *contexts_) frames_of_.push_back(frame(context));
    const Json waits = {{"name", kWaits}};
    const size_t waiting = number(waits);
    const std::string program = program_name(report_.command);
    Json cpu = profile(program + ": CPU"), gpu = profile(program + ": GPU");
    for (uint32_t i = 0; i < contexts_->size(); ++i) {
      const ReportContext& context = (*contexts_)[i];
      add(cpu, i, nanoseconds(context.cpu_s) + nanoseconds(context.driver_s));
      if (add(cpu, i, nanoseconds(context.waited_s))) cpu["samples"].back().push_back(waiting);
      add(gpu, i, nanoseconds(context.gpu_s));
    }
    const Json all = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                      {"exporter", "diogenes " + report_.tool_version},
                      {"name", program},
                      {"activeProfileIndex", 0},
                      {"shared", {{"frames", std::move(frames_)}}},
                      {"profiles", {std::move(cpu), std::move(gpu)}}};
    return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  static Json profile(const std::string& name) {
    return {{"type", "sampled"},       {"name", name},  {"unit", "nanoseconds"},
            {"startValue", 0},         {"endValue", 0}, {"samples", Json::array()},
            {"weights", Json::array()}};
  }

  size_t number(const Json& frame) {
    const auto [found, added] =
        numbers_.emplace(frame.dump(-1, ' ', false, Json::error_handler_t::replace), frames_.size());
    if (added) frames_.push_back(frame);
    return found->second;
  }

  size_t frame(const ReportContext& context) {
    Json one = {{"name", context_name(context)}};
    const ReportFrame frame = frame_of(context);
    if (!frame.file.empty()) one["file"] = frame.file;
    if (frame.line > 0) one["line"] = frame.line;
    return number(one);
  }

  bool add(Json& profile, uint32_t context, int64_t time_ns) {
    if (time_ns == 0) return false;
    Json sample = Json::array();
    for (uint32_t at : stack_of(*contexts_, context)) sample.push_back(frames_of_[at]);
    profile["samples"].push_back(std::move(sample));
    profile["weights"].push_back(time_ns);
    profile["endValue"] = profile["endValue"].get<double>() + static_cast<double>(time_ns);
    return true;
  }

  const std::vector<ReportContext> none_;
  const Report& report_;
  const std::vector<ReportContext>* contexts_ = &none_;
  Json frames_ = Json::array();
  std::map<std::string, size_t> numbers_;
  std::vector<size_t> frames_of_;  // of each context
};

}  // namespace

std::string to_speedscope(const Report& report) { return SpeedscopeWriter(report).write(); }

}  // namespace diogenes
