#include "launcher/measuring/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace diogenes::launcher {

std::filesystem::path full_disk_of(const std::filesystem::path& folder) {
  constexpr uint64_t kNextToNothing = 8 << 20;  // bytes
  struct statvfs space {};
  struct stat here {
  }, above{};
  if (statvfs(folder.c_str(), &space) != 0 || stat(folder.c_str(), &here) != 0 ||
      space.f_bavail * space.f_frsize >= kNextToNothing)
    return {};
  std::filesystem::path mounted = folder;
  while (mounted.has_relative_path() && stat(mounted.parent_path().c_str(), &above) == 0 &&
         above.st_dev == here.st_dev)
    mounted = mounted.parent_path();
  return mounted;
}

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
