// Session folders: made so that nothing is overwritten unless asked, and found when none is named.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"
#include "launcher/measuring/session_lock.h"

namespace diogenes::launcher {

// `wanted` empty: APP.N.diogenes in the current folder, N from 1, the first that mkdir gets. With `force` an
// existing session (or empty folder) at `wanted` is emptied first; anything else is never touched. `lock` is taken: of
// a session that another launcher works on, nothing is removed.
Result<std::filesystem::path> make_session_folder(const std::string& app, const std::string& wanted,
                                                  bool force, SessionLock& lock);

// The session that the user means: `named`, or the newest in the current folder.
Result<std::filesystem::path> choose_session(const std::string& named);

// A session's folder name may hold anything; as typed in a shell.
std::string shell_quoted(const std::string& text);

}  // namespace diogenes::launcher
