// `diogenes run --resume SESSION`: what an earlier `diogenes run` left, and from where it goes on.
// In: a session folder. Out: its session.json with the complete runs alone; the folders of the others are
// removed. A session can be resumed by the tool version that began it, in the same folder and with the same
// command, unless it is finished, a process of it is still running, or another launcher works on it.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/session.h"

namespace diogenes::launcher {

// Error: one line that says why the session cannot be resumed. `command` empty: the session's own.
Result<Session> session_to_resume(const std::filesystem::path& folder,
                                  const std::vector<std::string>& command);

// Leaves in `session` the runs before the first that is not complete, with what was said of them alone.
void keep_complete_runs(const std::filesystem::path& folder, Session& session);

// Removes the folders of runs that are not in `session`.
Status remove_other_runs(const std::filesystem::path& folder, const Session& session);

// Absolute, without dots and a slash at the end: as plans are named to the runs.
std::filesystem::path full_path(const std::filesystem::path& folder);

// Processes that were started for a run of the session in `folder`, a full_path(), and have not ended.
std::vector<pid_t> running_processes(const std::filesystem::path& folder);

}  // namespace diogenes::launcher
