#include "launcher/measuring/session_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "trace/session.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

Error cannot_make(const fs::path& folder, int reason) {
  const char* advice = reason == ENOSPC || reason == EDQUOT
                           ? "free some space, or choose another place with --output DIR"
                       : reason == ENOENT ? "make its parent folder first"
                                          : "choose a folder that you may write to with --output DIR";
  return error("cannot make the session folder %s: %s; %s", folder.c_str(), strerror(reason), advice);
}

// What is left of `folder` afterwards is empty, and locked.
Status clear_old(const fs::path& folder, SessionLock& lock) {
  std::error_code failed;
  bool ours = fs::is_directory(folder, failed) &&
              (fs::is_empty(folder, failed) || fs::exists(folder / "session.json", failed));
  if (!ours)
    return error("%s is not a Diogenes session, so --force does not remove it; give another --output",
                 folder.c_str());
  if (Status locked = lock.take(folder); !locked) return locked.error();
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    fs::remove_all(entry.path(), failed);
    if (failed) break;
  }
  if (failed)
    return error("cannot remove %s: %s; give another --output", folder.c_str(), failed.message().c_str());
  return Done{};
}

}  // namespace

Result<fs::path> make_session_folder(const std::string& app, const std::string& wanted, bool force,
                                     SessionLock& lock) {
  const auto locked = [&](const fs::path& folder) -> Result<fs::path> {
    if (Status taken = lock.take(folder); !taken) return taken.error();
    return fs::path(folder);
  };
  if (!wanted.empty()) {
    fs::path folder = wanted;
    if (!folder.has_filename()) folder = folder.parent_path();  // "out/"
    if (mkdir(folder.c_str(), 0777) == 0) return locked(folder);
    if (errno != EEXIST) return cannot_make(folder, errno);
    if (force) {
      if (Status cleared = clear_old(folder, lock); !cleared) return cleared.error();
      return folder;
    }
    if (Status idle = lock.take(folder); !idle) return idle.error();
    return error("%s exists already; give another --output, or --force to overwrite that session",
                 folder.c_str());
  }
  constexpr int kMany = 1'000'000;
  for (int n = 1; n < kMany; ++n) {
    fs::path folder = app + "." + std::to_string(n) + ".diogenes";
    if (mkdir(folder.c_str(), 0777) == 0) return locked(folder);
    if (errno != EEXIST) return cannot_make(fs::current_path() / folder, errno);
  }
  return error("a million sessions of %s are in this folder already; give --output DIR", app.c_str());
}

Result<fs::path> choose_session(const std::string& named) {
  if (named.empty()) return newest_session(".");
  std::error_code failed;
  fs::path folder = named;
  if (fs::status(folder, failed).type() == fs::file_type::not_found)
    return error("%s: no such session; `ls -d *.diogenes` lists those here", named.c_str());
  if (!fs::is_directory(folder, failed) && folder.filename() == "session.json")
    folder = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  // One that may not be read is a session all the same: read_session() says so.
  if (fs::status(folder / "session.json", failed).type() == fs::file_type::not_found)
    return error(
        "%s is not a Diogenes session (it has no session.json); name the folder that `diogenes run` made",
        named.c_str());
  return folder;
}

std::string shell_quoted(const std::string& text) {
  bool plain = !text.empty() && text.find_first_not_of(
                                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "%+,-./:=@_") == std::string::npos;
  if (plain) return text;
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

}  // namespace diogenes::launcher
