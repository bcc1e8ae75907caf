// Where time goes as folded stacks, for flame-graph tools (flamegraph.pl, speedscope, inferno): frames from the outside
// in, `;` between them, and the microseconds of that context alone. In: a report. Out: the whole file. The outermost
// frame is `CPU`, of the time of threads, or `GPU`, of GPU work at the call that gave it. Source: collapsed.cc has the
// format.
#include <fmt/format.h>

#include "views/exports/exports.h"
#include "views/exports/stacks.h"

namespace diogenes {
namespace {

std::string folded_words(const ReportContext& context) {
  if (context.kind != ReportContext::Kind::frame || context.name.empty()) return context_name(context);
  return frame_words(frame_of(context));
}

}  // namespace

std::string to_collapsed_time(const Report& report) {
  if (!report.profile) return "";
  const std::vector<ReportContext>& contexts = report.profile->contexts;
  std::vector<std::string> words;
  words.reserve(contexts.size());
  for (const ReportContext& context : contexts) words.push_back(one_frame(folded_words(context)));
  std::string text;
  for (uint32_t i = 0; i < contexts.size(); ++i) {
    const ReportContext& context = contexts[i];
    std::string stack;
    const auto put = [&](const char* first, const char* last, int64_t time_ns) {
      if (time_ns < 500) return;
      if (stack.empty())
        for (uint32_t at : stack_of(contexts, i)) stack += ";" + words[at];
      text +=
          fmt::format("{}{}{}{} {}\n", first, stack, last[0] == 0 ? "" : ";", last, (time_ns + 500) / 1000);
    };
    put("CPU", "", nanoseconds(context.cpu_s) + nanoseconds(context.driver_s));
    put("CPU", kWaits, nanoseconds(context.waited_s));
    put("GPU", "", nanoseconds(context.gpu_s));
  }
  return text;
}

}  // namespace diogenes
