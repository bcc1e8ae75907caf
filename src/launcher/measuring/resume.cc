#include "launcher/measuring/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>

#include "ffm/plan.h"
#include "launcher/command_line/build_details.h"
#include "launcher/measuring/session_folder.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

bool is_complete(const fs::path& folder, const StageRun& run) {
  std::error_code failed;
  return run.state == "complete" && (run.folder.empty() || fs::exists(folder / run.folder / "plan", failed));
}

std::string shown_command(const std::vector<std::string>& command) {
  std::string text;
  for (const auto& word : command) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// "tracing-2": of which runs there may be more than one, the number follows.
bool names_a_run(const std::string& name) {
  if (name == kPlainRun) return true;
  const std::string base = name.substr(0, name.find_last_not_of("0123456789") + 1);
  for (Stage stage :
       {Stage::baseline, Stage::tracing, Stage::memory_tracing, Stage::sync_use, Stage::gpu_times})
    if (name == stage_name(stage) ||
        (base.size() < name.size() && base == stage_name(stage) + std::string("-")))
      return true;
  return false;
}

Error refused(const std::string& text) { return error("%s", text.c_str()); }

}  // namespace

fs::path full_path(const fs::path& folder) {
  fs::path full = fs::absolute(folder).lexically_normal();
  return full.has_filename() ? full : full.parent_path();  // "out/"
}

Result<Session> session_to_resume(const fs::path& folder, const std::vector<std::string>& command) {
  Result<Session> session = read_session(folder);
  if (!session) return session.error();
  const std::string name = folder.string();
  if (session->request.profile)
    return refused(fmt::format("{} is a profile, which has one run: run `diogenes profile` again", name));
  if (session->tool_version != kVersion)
    return refused(fmt::format(
        "{} was begun by diogenes {}, and this is {}: resume it with that version, or begin a new session",
        name, session->tool_version.empty() ? "of unknown version" : session->tool_version, kVersion));
  if (session->finished)
    return refused(fmt::format("{} is complete, there is nothing to resume; `diogenes report {}` prints it",
                               name, shell_quoted(name)));
  if (session->command.empty())
    return refused(fmt::format("{}/session.json names no command; begin a new session", name));
  if (!command.empty() && command != session->command)
    return refused(fmt::format("{} is of another command: {}; leave the command out, or begin a new session",
                               name, shown_command(session->command)));
  std::error_code failed;
  if (!fs::equivalent(session->working_folder, fs::current_path(failed), failed))
    return refused(fmt::format("{} was begun in {}: resume it from there", name, session->working_folder));
  if (std::vector<pid_t> running = running_processes(full_path(folder)); !running.empty())
    return refused(fmt::format(
        "{}: {} of an earlier run still {} (process {}); wait for {} to end, or end {}", name,
        running.size() == 1 ? "a process" : "processes", running.size() == 1 ? "runs" : "run",
        fmt::join(running, ", "), running.size() == 1 ? "it" : "them", running.size() == 1 ? "it" : "them"));
  keep_complete_runs(folder, *session);
  const std::string& input = session->streams.input;
  if (!session->runs.empty() && !input.empty() && access((folder / input).c_str(), R_OK) != 0)
    return refused(
        fmt::format("the first run's input {} cannot be read any more; begin a new session", input));
  return std::move(*session);
}

void keep_complete_runs(const fs::path& folder, Session& session) {
  auto& runs = session.runs;
  auto cut = std::find_if(runs.begin(), runs.end(), [&](auto& run) { return !is_complete(folder, run); });
  // Where stage 1 ran twice, for another driver, both runs have one folder.
  if (cut != runs.end())
    cut = std::find_if(runs.begin(), cut, [&](auto& run) { return run.name == cut->name; });
  for (auto run = cut; run != runs.end(); ++run)
    std::erase_if(session.notices, [&](const std::string& notice) {
      return notice.starts_with(run->name + ": ") || notice.starts_with("the --prepare command before ");
    });
  runs.erase(cut, runs.end());
}

Status remove_other_runs(const fs::path& folder, const Session& session) {
  std::vector<fs::path> others;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool kept = std::any_of(session.runs.begin(), session.runs.end(),
                                  [&](const StageRun& run) { return run.name == name; });
    if (!kept && names_a_run(name) && entry.is_directory(failed)) others.push_back(entry.path());
  }
  for (const fs::path& other : others) {
    fs::remove_all(other, failed);
    if (failed) return error("cannot remove %s: %s", other.c_str(), failed.message().c_str());
  }
  return Done{};
}

std::vector<pid_t> running_processes(const fs::path& folder) {
  const std::string wanted = fmt::format("{}={}/", kPlanVariable, folder.string());
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc{} || end != name.data() + name.size() || pid == getpid()) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.starts_with(wanted) || environment.find('\0' + wanted) != std::string::npos)
      found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace diogenes::launcher
