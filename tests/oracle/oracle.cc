#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "analysis/benefit/graph.h"
#include "analysis/necessity/judge_process.h"
#include "analysis/runs/join.h"
#include "oracle.h"
#include "run_process.h"

namespace diogenes::oracle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Of a kind that the adversarial driver can move: to the first use by an instruction of the program, a system
// call, or a copy that it sees.
constexpr uint32_t kMovedThere = kCpuAccess | kSourceReuse | kSystemCall | kDeviceReuse;

std::string file_name(const char* path) { return fs::path(path).filename().string(); }

std::vector<CodePlace> stack_of(const StackPlace& place) {
  std::vector<CodePlace> result;
  if (!place.process) return result;
  for (const Frame& frame : place.process->stacks.frames(place.stack)) {
    const ModuleRecord* module = place.process->module(frame.module());
    result.push_back({module ? file_name(module->path) : "", frame.offset()});
  }
  return result;
}

bool is_program_wait(const Operation& operation) {
  return is_wait(operation) && !operation.has(kCapturing) && !operation.has(kDriverThread);
}

}  // namespace

std::string load_sites(const std::string& folder, std::vector<SiteVerdict>* result,
                       std::vector<SiteVerdict>* idle) {
  const fs::path session = folder;
  SiteTable sites;
  auto tracing = load_run(session / "tracing", sites, Load::operations);
  if (!tracing) return tracing.error().c_str();
  auto watched = load_judged_run(session / "memory-tracing", sites);
  if (!watched) return watched.error().c_str();
  std::vector<SiteVerdict> verdicts(sites.size());
  std::vector<SiteVerdicts> by_site;
  join_verdicts(*tracing, *watched, sites, by_site);
  std::map<uint32_t, uint64_t> thread_of;  // of a site, over all processes
  uint64_t thread_number = 0;
  for (const Process& process : tracing->processes)
    for (const Thread& thread : process.threads) {
      ++thread_number;
      for (const Operation& operation : thread.operations) {
        SiteVerdict& site = verdicts[operation.site.value];
        auto [known, fresh] = thread_of.try_emplace(operation.site.value, thread_number);
        if (!is_program_wait(operation) || known->second != thread_number) site.one_thread = false;
        if (!is_program_wait(operation)) continue;
        ++site.instances;
        site.instance_reasons.push_back(operation.has(kFailed) ? uint32_t{kUnresolved} : operation.reasons);
        site.reasons |= operation.reasons;
        site.unnecessary += !operation.has(kFailed) && operation.reasons == 0;
        site.conditional += !operation.has(kFailed) && operation.reasons == 0 &&
                            (operation.conditions & kConditionArguments) != 0;
        site.needs_new_memory += !operation.has(kFailed) && (operation.conditions & kConditionNewMemory) != 0;
        site.unresolved += (operation.reasons & kUnresolved) != 0;
        if (is_movable(operation.reasons) && operation.after.count >= 0) {
          ++site.movable;
          if (site.least_after_ns < 0 || operation.after.count < site.least_after_ns)
            site.least_after_ns = operation.after.count;
        }
      }
    }
  for (uint32_t i = 0; i < verdicts.size(); ++i) {
    SiteVerdict& site = verdicts[i];
    if (site.instances == 0 && (!idle || !thread_of.contains(i))) continue;
    site.function = operation_name(sites[SiteIndex{i}]);
    site.stack = stack_of(sites[SiteIndex{i}].place);
    site.unmatched_needed = by_site[i].unmatched_needed;
    site.idle_needed = by_site[i].idle_needed;
    site.idle_movable = by_site[i].idle_movable;
    (site.instances == 0 ? idle : result)->push_back(std::move(site));
  }
  return "";
}

namespace {

Driver used_driver = Driver::simulated;

std::vector<std::string> alone_environment() {
  if (used_driver == Driver::system) return {};
  return {"LD_LIBRARY_PATH=" + tool("lib/simulated")};
}

Ran ran(const bench::ProcessRun& run) {
  return {run.timed_out ? -1 : run.exit_status, run.output, run.errors};
}

void add_place(std::ostringstream& out, const SiteVerdict& site, const char* verb, const std::string& calls) {
  out << verb << ' ' << calls;
  for (const CodePlace& place : site.stack)
    out << ' ' << place.module << "+0x" << std::hex << place.offset << std::dec;
  out << "  # " << site.function << '\n';
}

std::string numbers(const SiteVerdict& site, bool (*wanted)(uint32_t)) {
  std::string result;
  for (size_t i = 0; i < site.instance_reasons.size(); ++i)
    if (wanted(site.instance_reasons[i])) result += (result.empty() ? "" : ",") + std::to_string(i + 1);
  return result;
}

}  // namespace

std::string built(const std::string& name) {
  static const std::string top = [] {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);  // TOP/bin/tests/PROGRAM
    return program.parent_path().parent_path().parent_path().string();
  }();
  return top + "/" + name;
}

std::string tool(const std::string& name) {
  const char* top = getenv("DIOGENES_TOP");
  return top && *top ? std::string(top) + "/" + name : built(name);
}

void use_driver(Driver driver) { used_driver = driver; }
Driver driver() { return used_driver; }

std::string printed(const std::vector<std::string>& command) {
  return bench::run_process(command, {.environment = alone_environment()}).output;
}

Judged judge(const std::vector<std::string>& command) {
  Judged result;
  result.alone = ran(bench::run_process(command, {.environment = alone_environment()}));
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  std::vector<std::string> run = {
      tool("bin/diogenes"), "run",   "--driver", used_driver == Driver::simulated ? "simulated" : "system",
      "--output",           session, "--report", folder.path() / "report.txt",
      "--max-overhead",     "1000"};
  run.push_back("--");
  run.insert(run.end(), command.begin(), command.end());
  std::vector<std::string> environment;
  if (!getenv("XDG_CACHE_HOME")) environment = {"XDG_CACHE_HOME=" + built("e2e-cache")};
  result.measured = ran(bench::run_process(run, {.environment = environment, .limit_s = 280}));
  if (const char* keep = getenv("DIOGENES_KEEP_SESSION")) {
    std::error_code ignored;
    fs::remove_all(keep, ignored);
    fs::copy(session, keep, fs::copy_options::recursive, ignored);
  }
  if (result.measured.output != result.alone.output ||
      result.measured.exit_status != result.alone.exit_status)
    result.trouble = "measuring changed the program: exit status " +
                     std::to_string(result.alone.exit_status) + " and then " +
                     std::to_string(result.measured.exit_status) + "\n" + result.measured.errors;
  const std::string unread = load_sites(session, &result.sites, &result.idle);
  if (!unread.empty()) result.trouble += "\nsession: " + unread + "\n" + result.measured.errors;
  const auto exported = bench::run_process({tool("bin/diogenes"), "export", session, "--format", "json"},
                                           {.environment = environment});
  result.report = json::parse(exported.output, nullptr, false);
  if (!result.report.is_object()) result.trouble += "\nno report: " + exported.errors;
  return result;
}

std::string late_list(const std::vector<SiteVerdict>& sites, uint64_t* skipped, uint64_t* moved) {
  std::ostringstream out;
  auto is_needless = [](uint32_t reasons) { return reasons == 0; };
  auto can_move = [](uint32_t reasons) { return reasons != 0 && (reasons & ~kMovedThere) == 0; };
  for (const SiteVerdict& site : sites) {
    // What did not wait has no number in the list, and would be left out or moved with the others.
    if (site.stack.empty() || site.unmatched_needed + site.idle_needed > 0) continue;
    if (site.always_unnecessary()) {
      add_place(out, site, "skip", "all");
      if (skipped) ++*skipped;
    } else if (site.one_thread) {
      const std::string skip = numbers(site, is_needless), move = numbers(site, can_move);
      if (!skip.empty()) add_place(out, site, "skip", skip);
      if (!move.empty()) add_place(out, site, "move", move);
      if (skipped) *skipped += !skip.empty();
      if (moved) *moved += !move.empty();
    } else if (site.always_movable() && (site.reasons & ~kMovedThere) == 0) {
      add_place(out, site, "move", "all");
      if (moved) ++*moved;
    }
  }
  return out.str();
}

std::string skip_line(const SiteVerdict& site) {
  std::ostringstream out;
  add_place(out, site, "skip", "all");
  return out.str();
}

Ran run_late(const std::vector<std::string>& command, const std::string& list, int patience_ms) {
  const bench::TemporaryFolder folder;
  const std::string file = folder.path() / "left_out";
  std::ofstream(file) << list;
  std::vector<std::string> environment = {"LD_LIBRARY_PATH=" + tool("lib/simulated"),
                                          "DIOGENES_SIMULATED_LATE=" + file};
  if (patience_ms > 0)
    environment.push_back("DIOGENES_SIMULATED_LATE_PATIENCE_MS=" + std::to_string(patience_ms));
  return ran(bench::run_process(command, {.environment = environment, .limit_s = 60}));
}

std::string hold_against_oracle(const std::vector<std::string>& command, const Judged& judged,
                                std::string* guilty) {
  auto same = [&](const Ran& run) {
    return run.output == judged.alone.output && run.exit_status == judged.alone.exit_status;
  };
  if (const Ran nothing = run_late(command, ""); !same(nothing))
    return "the adversarial driver changes the program with no wait left out: exit status " +
           std::to_string(nothing.exit_status) + "\n" + nothing.errors;
  const std::string all = late_list(judged.sites);
  const Ran run = run_late(command, all);
  if (same(run)) return "";
  std::string result =
      "the output changed without the waits that were called needless or movable (exit status " +
      std::to_string(run.exit_status) + ")\n";
  // The shortest beginning of the list that changes the output: its last line is to blame, alone or with
  // others.
  std::vector<std::string> lines;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  auto first = [&](size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += lines[i];
    return list;
  };
  size_t good = 0, bad = lines.size();
  while (bad - good > 1) {
    const size_t middle = (good + bad) / 2;
    (same(run_late(command, first(middle))) ? good : bad) = middle;
  }
  if (guilty) *guilty = lines[bad - 1];
  const bool alone = !same(run_late(command, lines[bad - 1]));
  return result + (alone ? "by itself: " : "together with those before it: ") + lines[bad - 1] +
         difference(judged.alone.output, run_late(command, first(bad)).output);
}

std::string difference(const std::string& before, const std::string& after) {
  std::istringstream a(before), b(after);
  std::string x, y;
  while (true) {
    const bool more = static_cast<bool>(std::getline(a, x)), too = static_cast<bool>(std::getline(b, y));
    if (!more && !too) return "";
    if (!more || !too || x != y)
      return "was: " + (more ? x : "(end)") + "\nis:  " + (too ? y : "(end)") + "\n";
  }
}

std::string reason_words(uint32_t reasons) {
  static const char* const words[] = {"cpu",        "source",  "syscall", "copy",      "order",  "shared",
                                      "small",      "exposed", "refused", "undecoded", "driver", "hostfn",
                                      "unresolved", "unknown", "own",     "other",     "letsgo"};
  std::string result;
  for (int i = 0; i < 17; ++i)
    if (reasons & (1u << i)) result += (result.empty() ? "" : "+") + std::string(words[i]);
  return result.empty() ? "-" : result;
}

}  // namespace diogenes::oracle
