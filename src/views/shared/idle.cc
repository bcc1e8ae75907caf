#include "views/shared/idle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/short_function.h"
#include "views/shared/context_tree.h"
#include "views/shared/figures.h"

namespace diogenes {
namespace {

constexpr double kWorthAWord = 0.1;                       // of the time from the first work to the last
constexpr double kLeastPlace = 0.01, kLeastPart = 0.001;  // of the idle time
constexpr double kLeastOfPlace = 0.1;                     // of a place's
constexpr size_t kMostParts = 3;
constexpr double kLeastAsleep = 0.05, kLeastAsleepShare = 0.1;  // s; of the time between calls
constexpr uint64_t kManyPieces = 1000;
constexpr double kLongestWait = 2e-4;  // s, for a piece

template <typename Part>
void longest_first(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& one, const Part& other) { return one.seconds > other.seconds; });
}

// Of a time between calls, as far as samples can tell: they are milliseconds apart.
double asleep_of(double seconds, const std::optional<double>& asleep_s) {
  if (!asleep_s || !std::isfinite(*asleep_s)) return 0;
  const double asleep = std::min(*asleep_s, seconds);
  return asleep >= kLeastAsleep && asleep >= kLeastAsleepShare * seconds ? asleep : 0;
}

std::string gap_text(const ReportIdle::Gap& gap) {
  const bool slept = 2 * asleep_of(gap.seconds, gap.asleep_s) >= gap.seconds && gap.seconds > 0;
  return std::string("between two calls") + (slept ? ", asleep" : "") + (gap.count == 1 ? ", once" : "");
}

std::string file_place(const std::string& path, int line) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

std::string line_text(int line) { return line > 0 ? fmt::format("line {}", line) : ""; }
std::string lines_text(const ReportIdle::Gap& gap) {
  if (gap.before <= 0 || gap.after <= 0) return line_text(std::max(gap.before, gap.after));
  return gap.before == gap.after ? line_text(gap.before)
                                 : fmt::format("lines {} to {}", gap.before, gap.after);
}

// Short work that keeps the GPU waiting longer than it works.
std::string short_work_text(double idle_s, uint64_t pieces, double gpu_s) {
  const auto count = static_cast<double>(pieces);
  if (pieces < kManyPieces || !std::isfinite(gpu_s) || idle_s < gpu_s || idle_s > kLongestWait * count)
    return "";
  return fmt::format("gives the GPU {} of work, {} each, and lets it wait {} for each",
                     counted(pieces, "piece"), seconds_text(gpu_s / count), seconds_text(idle_s / count));
}

}  // namespace

const char* const kIdleGain =
    "The run gains that much at most: if the function takes no time, or if the GPU gets its next work before.";

const char* const kIdleLoops =
    "The run gains that much at most: if the loop runs on the GPU, or while the GPU works. Whether its "
    "iterations depend on each other is not known.";

const char* short_work_advice(const ReportProfile& profile) {
  const bool python = std::any_of(profile.contexts.begin(), profile.contexts.end(),
                                  [](const ReportContext& one) { return one.language == "python"; });
  return python
             ? "Much short work: do a whole batch at a time in place of a loop, or let torch.compile or a CUDA graph "
               "give the GPU many pieces at once."
             : "Much short work: let one kernel do what several do, or a whole batch in place of a loop; or let a CUDA "
               "graph give the GPU many pieces at once.";
}

const char* const kWorkOfPython =
    "Work of Python alone: do it for a whole batch at a time with arrays or tensors; or let Numba or torch.compile make "
    "machine code of it; or let the GPU work meanwhile, by giving it the next step before.";

bool idle_is_worth_a_word(const ReportProfile& profile) {
  return profile.idle && std::isfinite(profile.idle->idle_s) && std::isfinite(profile.idle->phase_s) &&
         profile.idle->phase_s > 0 && profile.idle->idle_s >= kWorthAWord * profile.idle->phase_s;
}

std::string idle_phrase(const ReportIdle& idle) {
  return fmt::format("{} of the {} from its first work to its last ({})", seconds_text(idle.idle_s),
                     seconds_text(idle.phase_s),
                     percent_text(idle.phase_s > 0 ? 100 * idle.idle_s / idle.phase_s : 0));
}

std::string idle_of_loop(const ReportIdle& idle) {
  if (idle.loop_iterations == 0 || !(idle.loop_s > 0) || !std::isfinite(idle.loop_s + idle.loop_idle_s))
    return "";
  return fmt::format("In the main loop: {} of {} ({}), {} in each of {}.", seconds_text(idle.loop_idle_s),
                     seconds_text(idle.loop_s), percent_text(100 * idle.loop_idle_s / idle.loop_s),
                     seconds_text(idle.loop_idle_s / static_cast<double>(idle.loop_iterations)),
                     counted(idle.loop_iterations, "iteration"));
}

std::vector<IdleMeanwhile> idle_meanwhile(const ReportIdle& idle) {
  std::vector<IdleMeanwhile> parts;
  const double asleep = asleep_of(idle.between_s, idle.asleep_s);
  for (const IdleMeanwhile& part :
       {IdleMeanwhile{idle.between_s - asleep,
                      idle.asleep_s ? "the CPU worked between two calls of the driver"
                                    : "the CPU worked, or slept, between two calls of the driver"},
        IdleMeanwhile{
            asleep,
            "the thread had no CPU between two calls: it waited for a lock, a file or another thread"},
        IdleMeanwhile{idle.launching_s, "the CPU had launched the next work, or was at it"},
        IdleMeanwhile{idle.calls_s, "the CPU was in other calls of the driver"},
        IdleMeanwhile{idle.waits_s, "the CPU was still in a wait, for work that had ended"},
        IdleMeanwhile{idle.recording_s, "Diogenes recorded a call: without it, this time is not there"}})
    if (std::isfinite(part.seconds) && part.seconds > 0 && part.seconds >= kLeastPart * idle.idle_s)
      parts.push_back(part);
  longest_first(parts);
  return parts;
}

std::vector<IdlePlace> idle_places(const ReportProfile& profile) {
  const std::vector<ReportContext>& contexts = profile.contexts;
  struct Sums {
    double seconds = 0, once_s = 0, gpu_s = 0,
           python_s = 0;  // python_s: of Python itself, where no driver is called
    uint64_t pieces = 0;
    uint32_t first = 0;
    std::map<std::pair<std::string, std::string>, double> parts;  // by where and what
  };
  std::map<std::pair<std::string, std::string>, Sums> functions;  // by name and file
  // Of each context, from it up: the application's function, and what that calls; what it is called if that is a wrapper.
  std::vector<uint32_t> function(contexts.size(), 0), callee(contexts.size(), 0), named(contexts.size(), 0);
  std::vector<bool> calls(contexts.size(), false);  // there are calls of the driver in it
  for (size_t i = contexts.size(); i-- > 0;) {
    if (contexts[i].kind == ReportContext::Kind::call) calls[i] = true;
    if (calls[i] && contexts[i].parent < i) calls[contexts[i].parent] = true;
  }
  double whole = 0;
  for (uint32_t i = 0; i < contexts.size(); ++i) {
    const ReportContext& one = contexts[i];
    const bool own = one.kind == ReportContext::Kind::frame && one.owner == FrameOwner::application;
    const uint32_t parent = one.parent < i ? one.parent : 0;
    function[i] = own ? i : function[parent];
    const bool first = own || i == 0 || function[parent] == parent;
    callee[i] = first ? i : callee[parent];
    named[i] = first || (contexts[named[parent]].call.empty() && !one.call.empty()) ? i : named[parent];
    if (one.kind == ReportContext::Kind::gpu || one.kind == ReportContext::Kind::rest ||
        is_inside_kernel(one.kind)) {
      Sums& of_work = functions[{contexts[function[i]].name, contexts[function[i]].file}];
      of_work.pieces += one.count;
      of_work.gpu_s += one.gpu_s;
    }
    const double seconds = std::isfinite(one.idle_s) ? one.idle_s : 0;
    if (seconds <= 0) continue;
    whole += seconds;
    const ReportContext& of = contexts[function[i]];
    Sums& sums = functions[{of.name, of.file}];
    if (sums.seconds == 0) sums.first = function[i];
    sums.seconds += seconds;
    if (one.language == "python" && of.language == "python" && !calls[function[i]]) sums.python_s += seconds;
    // What no call of the driver lies in was seen by samples alone, between the calls around it.
    if (function[i] == i || !calls[callee[i]]) continue;
    const ReportContext& called = contexts[named[i]];
    sums.parts[{line_text(contexts[callee[i]].called_line),
                called.call.empty() ? plain_name(called) : called.call}] += seconds;
  }
  if (profile.idle)
    for (const ReportIdle::Gap& gap : profile.idle->gaps) {
      // What lies in a library belongs to the call of it.
      if (gap.context >= contexts.size() || function[gap.context] != gap.context) continue;
      const auto sums = functions.find({contexts[gap.context].name, contexts[gap.context].file});
      if (sums == functions.end() || !std::isfinite(gap.seconds)) continue;
      if (gap.count == 1) sums->second.once_s += gap.seconds;
      sums->second.parts[{lines_text(gap), gap_text(gap)}] += gap.seconds;
    }
  std::vector<IdlePlace> places;
  for (const auto& [key, sums] : functions) {
    if (!(sums.seconds > 0) || sums.seconds < kLeastPlace * whole) continue;
    const ReportContext& of = contexts[sums.first];
    IdlePlace& place = places.emplace_back();
    place.seconds = sums.seconds;
    place.name = plain_name(of);
    place.place = function_place(of);
    place.of_python = 2 * sums.python_s >= sums.seconds;
    place.short_work = short_work_text(sums.seconds - sums.once_s, sums.pieces, sums.gpu_s);
    for (const auto& [part, seconds] : sums.parts)
      if (seconds >= kLeastPlace * whole && seconds >= kLeastOfPlace * sums.seconds)
        place.parts.push_back({std::min(seconds, sums.seconds), part.first, part.second});
    longest_first(place.parts);
    if (place.parts.size() > kMostParts) place.parts.resize(kMostParts);
  }
  longest_first(places);
  return places;
}

std::vector<IdleLoop> idle_loops(const ReportProfile& profile) {
  std::vector<IdleLoop> loops;
  if (!profile.idle) return loops;
  for (const ReportIdle::Loop& one : profile.idle->loops) {
    if (!std::isfinite(one.seconds) || one.seconds <= 0) continue;
    IdleLoop& loop = loops.emplace_back();
    loop.seconds = one.seconds;
    loop.name = one.function.empty() ? "code without a name" : short_function(one.function);
    loop.place = one.file.empty() ? fmt::format("{}+{:#x}", file_place(one.module, 0), one.offset)
                                  : file_place(one.file, one.first_line);
    if (!one.file.empty() && one.first_line > 0 && one.last_line > one.first_line)
      loop.place += fmt::format(" to {}", one.last_line);
    if (one.caller.empty()) continue;
    loop.caller = short_function(one.caller);
    if (!one.caller_file.empty()) loop.caller_place = ", " + file_place(one.caller_file, one.caller_line);
  }
  longest_first(loops);
  return loops;
}

}  // namespace diogenes
