#include "analysis/report/kept_report.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeptMagic = "diogenes-kept-report/8\n";
constexpr const char* kFile = "report.kept";

// What was proved is read anew each time (proved_report.h), and the timeline is made anew by those who show it.
template <typename Value>
constexpr bool kKept = !std::is_same_v<Value, ReportProved> && !std::is_same_v<Value, ReportProof> &&
                       !std::is_same_v<Value, ReportTimeline>;

}  // namespace
}  // namespace diogenes

template <typename Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(json& to, [[maybe_unused]] const std::optional<Value>& value) {
    if constexpr (diogenes::kKept<Value>)
      if (value) to = *value;
  }
  static void from_json([[maybe_unused]] const json& from, [[maybe_unused]] std::optional<Value>& value) {
    if constexpr (diogenes::kKept<Value>)
      if (!from.is_null()) value = from.get<Value>();
  }
};

namespace diogenes {

// All members of each type: the binding does not compile when one is added or removed.
#define KEPT(Type, ...)                                           \
  [[maybe_unused]] static void all_members_of(const Type& kept) { \
    [[maybe_unused]] const auto& [__VA_ARGS__] = kept;            \
  }                                                               \
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, __VA_ARGS__)

KEPT(ReportFrame, function, file, line, module, offset, inlined, column, owner, language, waits)
KEPT(ReportCondition, code, text)
KEPT(ReportNotice, code, text)
KEPT(ReportSource, first, lines)
KEPT(ReportValueUse, use, count, after_s, stack)
KEPT(ReportValue, followed, instances, copied, converted, computed, later, elsewhere, uses, moved_up_to_s)
KEPT(ReportUse, after_s, stack, value)
KEPT(ReportRange, low_s, high_s, reason, paper_s, replay_s)
KEPT(ReportTogether, expected_benefit_s, expected_benefit_percent, range)
KEPT(ReportProcess, rank, pid, host, executable)
KEPT(ReportOccurrence::Thread, ordinal, main, count)
KEPT(ReportOccurrence, process, count, thread_count, threads)
KEPT(ReportProblem, id, key, source_key, kind, operation, api, count, instances, waited_s, call_s, bytes,
     expected_benefit_s, expected_benefit_percent, range, first_use, duplicate_of, lost_at, conditions, why,
     fix, where, via, source, stack, occurrences, proved)
KEPT(ReportRequiredCall, key, operation, api, count, waits)
KEPT(ReportRequired, id, key, source_key, operation, api, count, instances, not_judged, queries, launches,
     in_a_row, turns, loops, in_parts, part, sends, bytes, unused_bytes, without_unused_s, made_s, between_s,
     work_s, at_most_s, waits_gain_s, waited_s, call_s, calls, up_to_s, up_to_percent, range, reasons,
     used_for, fix, used_by, same_value, values, where, via, stack, occurrences, proved)
KEPT(ReportCoverage, synchronizations, judged, not_judged)
KEPT(ReportGroup, id, grouping, title, expected_benefit_s, expected_benefit_percent, synchronization_issues,
     transfer_issues, members, range, proved)
KEPT(ReportLoop, iterations, calls, expected_benefit_s, seconds)
KEPT(ReportPart, marks, times, seconds)
KEPT(ReportWindow, number, count, after_s, seconds, slowdown)
KEPT(ReportStage, name, runtime_s, overhead)
KEPT(ReportWaitFunction, offset, agreed, known)
KEPT(ReportFunction, operation, count, call_s, waited_s, expected_benefit_s)
KEPT(ReportGain, seconds, low_s, high_s)
KEPT(ReportWhatIf, half, none, half_fixed, none_fixed, reason)
KEPT(ReportStall, reason, samples)
KEPT(ReportSampleCount, samples, latency, stalls)
KEPT(ReportKernelNode, parent, kind, function, file, line, last_line, called_line, estimated, own, all,
     what_if)
KEPT(ReportSampledSource::Line, text, samples, reason)
KEPT(ReportSampledSource, file, first, lines)
KEPT(ReportKernelSamples, reasons, nodes, hottest, why_no_lines, notes, issue_rate, eligible_rate, busy_rate,
     instructions_a_cycle, active_rate, instructions_a_launch, source)
KEPT(ReportOccupancy, percent, limiter)
KEPT(ReportLaunchShape, grid, block, registers, static_shared_bytes, dynamic_shared_bytes, count, gpu_s,
     occupancy)
KEPT(ReportGpuPath, where, via, stack, count, gpu_s, what_if)
KEPT(ReportGpuWork, id, kind, name, full_name, count, gpu_s, percent, shortest_s, median_s, longest_s,
     least_s, most_s, bytes, in_graphs, shapes, shape_count, paths, path_count, what_if, inside)
KEPT(ReportContext, parent, kind, name, call, file, module, line, called_line, language, owner, count, cpu_s,
     driver_s, waited_s, gpu_s, idle_s, recoverable_s, half_gain_s, none_gain_s, cpu_least_s, cpu_most_s,
     gpu_least_s, gpu_most_s, threads, work, place, estimated)
KEPT(ReportIdle::Gap, context, before, after, seconds, count, asleep_s)
KEPT(ReportIdle::Loop, function, file, module, offset, first_line, last_line, caller, caller_file,
     caller_line, seconds, samples)
KEPT(ReportIdle, phase_s, idle_s, between_s, calls_s, waits_s, launching_s, recording_s, asleep_s, loop_s,
     loop_idle_s, loop_iterations, gaps, loops)
KEPT(ReportProfile, gpu_s, gpu_busy_s, threads_s, idle, recording_s, pieces, unnamed, work, work_count,
     left_out_s, contexts, notes, no_samples)
KEPT(Report, model, judged, tool_version, started, incomplete, coverage, command, exit_status, runtime_s,
     part, window, gpu_phase_s, gpu_in_use_s, driver_path, driver_build_id, driver_version, simulated,
     wait_functions, device_name, compute_capability, processes, stages, synchronizations, transfers,
     transferred_bytes, waited_s, functions, problems, required, groups, together, required_together,
     main_loop, notices, timeline, proof, profile)

namespace {

// Size and time of a file tell one build of the tool from another, too. Empty: there is no such file.
std::string mark_of(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return "";
  return fmt::format("{} {}.{}\n", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// What the report was made of. Empty: it cannot be told.
std::string key_of(const fs::path& session, const AnalysisOptions& options) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(session, failed), end; !failed && at != end;
       at.increment(failed)) {
    // Beside the folders of the runs lie what the tool makes of them, and what the user puts there.
    const fs::path path = at->path();
    if (path.parent_path() == session && path.filename() != "session.json") {
      // The runs of `diogenes prove` are no part of it, either.
      if (path.filename() == stage_name(Stage::proving)) at.disable_recursion_pending();
      continue;
    }
    if (const std::string mark = mark_of(path); !mark.empty())
      files.push_back(path.lexically_relative(session).string() + " " + mark);
  }
  if (failed || files.empty()) return "";
  std::sort(files.begin(), files.end());
  std::string key = fmt::format("{}{} {} {} {}\n", mark_of("/proc/self/exe"), static_cast<int>(options.model),
                                options.threshold_percent, options.tracing_run, options.window);
  for (const auto* folders : {&options.owners.own, &options.owners.library}) {
    for (const std::string& folder : *folders) key += folder + "\n";
    key += "\n";
  }
  for (const std::string& file : files) key += file;
  return key;
}

struct Head {
  uint64_t key = 0, content = 0;  // hashes
};

}  // namespace

std::string report_bytes(const Report& report) {
  return nlohmann::json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Report> report_of(std::string_view bytes) {
  try {
    return nlohmann::json::parse(bytes).get<Report>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<Report> read_kept_report(const fs::path& session, const AnalysisOptions& options) {
  std::ifstream file(session / kFile, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Head head;
  if (!bytes.starts_with(kKeptMagic) || bytes.size() < kKeptMagic.size() + sizeof head) return std::nullopt;
  memcpy(&head, bytes.data() + kKeptMagic.size(), sizeof head);
  const std::string_view content = std::string_view(bytes).substr(kKeptMagic.size() + sizeof head);
  const std::string key = key_of(session, options);
  if (key.empty() || head.key != XXH3_64bits(key.data(), key.size()) ||
      head.content != XXH3_64bits(content.data(), content.size()))
    return std::nullopt;
  return report_of(content);
}

Status keep_report(const fs::path& session, const AnalysisOptions& options, const std::string& report) {
  const std::string key = key_of(session, options);
  if (key.empty()) return Done{};
  const Head head{XXH3_64bits(key.data(), key.size()), XXH3_64bits(report.data(), report.size())};
  // Two may be written at a time: each to a file of its own, and the last one stays.
  const fs::path fresh = session / fmt::format("{}.{}", kFile, getpid());
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << kKeptMagic;
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file << report;
  file.close();
  std::error_code failed;
  if (file.good()) fs::rename(fresh, session / kFile, failed);
  if (file.good() && !failed) return Done{};
  fs::remove(fresh, failed);
  return error("%s: the report cannot be kept there; the session is analysed anew each time",
               session.c_str());
}

}  // namespace diogenes
