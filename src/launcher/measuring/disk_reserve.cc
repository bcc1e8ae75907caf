#include "launcher/measuring/disk_reserve.h"

#include <fcntl.h>
#include <unistd.h>

namespace diogenes::launcher {

void DiskReserve::keep(const std::filesystem::path& session_folder) {
  constexpr off_t kBytes = 512 << 10;  // a report of some thousand problems
  if (!file_.empty()) return;
  std::filesystem::path file = session_folder / "reserve";
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const bool kept = posix_fallocate(fd, 0, kBytes) == 0;
  close(fd);
  if (kept)
    file_ = file;
  else
    unlink(file.c_str());
}

bool DiskReserve::release() {
  if (file_.empty()) return false;
  const bool released = unlink(file_.c_str()) == 0;
  file_.clear();
  return released;
}

}  // namespace diogenes::launcher
