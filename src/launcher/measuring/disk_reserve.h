// A file in the session that keeps some space on the disk for session.json and the report: when a run has
// filled the disk, what happened can still be written down.
#pragma once
#include <filesystem>

namespace diogenes::launcher {

// Where a disk is mounted that has next to nothing left; "": there is room where `folder` is.
std::filesystem::path full_disk_of(const std::filesystem::path& folder);

class DiskReserve {
 public:
  DiskReserve() = default;
  ~DiskReserve() { release(); }
  DiskReserve(const DiskReserve&) = delete;
  DiskReserve& operator=(const DiskReserve&) = delete;

  // Where there is no room for it, there is no reserve.
  void keep(const std::filesystem::path& session_folder);
  bool release();  // true: there is more space now

 private:
  std::filesystem::path file_;
};

}  // namespace diogenes::launcher
