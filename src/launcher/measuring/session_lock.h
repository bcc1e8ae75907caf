// Who works on a session: one launcher at a time. In: the session's folder, which exists.
#pragma once
#include <filesystem>

#include "base/result.h"

namespace diogenes::launcher {

// Held as long as a launcher works on a session; the kernel lets go of it when the launcher dies.
class SessionLock {
 public:
  SessionLock() = default;
  ~SessionLock();
  SessionLock(const SessionLock&) = delete;
  SessionLock& operator=(const SessionLock&) = delete;

  // Error: another launcher holds it. A file system without locks counts as success, and so does a folder that is
  // locked by this already.
  Status take(const std::filesystem::path& folder);

 private:
  int fd_ = -1;
};

}  // namespace diogenes::launcher
