#include "launcher/measuring/session_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace diogenes::launcher {

SessionLock::~SessionLock() {
  if (fd_ >= 0) close(fd_);
}

Status SessionLock::take(const std::filesystem::path& folder) {
  if (fd_ >= 0) return Done{};
  fd_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return Done{};
  close(fd_);
  fd_ = -1;
  return error("another diogenes is at work on %s; wait until it has ended", folder.c_str());
}

}  // namespace diogenes::launcher
