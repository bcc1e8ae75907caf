// GPU code of which samples may tell, as files in a process's folder: only code with lines, the part that the analysis reads
// (driver/cubin_file.h), once for each content. Nothing is allocated. By system calls: libc's are places where a thread of the
// program can be cancelled.
#pragma once
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <span>

#include "base/mapped_file.h"
#include "driver/cubin_file.h"
#include "driver/gpu_samples_file.h"

namespace diogenes {

// One caller at a time.
class KeptCode {
 public:
  static constexpr uint64_t kMostBytes = 64 << 20;  // of a process

  struct Kept {
    WhyNoCode why_none;
    uint64_t code;  // 0: none
  };

  void open(const char* folder) { folder_ = folder; }

  Kept keep(std::span<const uint8_t> bytes) {
    const Result<CubinFile> cubin = CubinFile::read(bytes);
    if (!cubin) return {WhyNoCode::unreadable, 0};
    if (!cubin->has_lines()) return {WhyNoCode::no_lines, 0};
    const uint64_t code = XXH3_64bits(bytes.data(), bytes.size()) | 1;
    char path[640];
    const int folder_bytes = snprintf(path, sizeof path, "%s/", folder_);
    snprintf(path + folder_bytes, sizeof path - static_cast<size_t>(folder_bytes), kKeptCodeFile,
             static_cast<unsigned long long>(code));
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, kNew, 0644));
    if (file < 0) return {errno == EEXIST ? WhyNoCode::kept : WhyNoCode::not_written, code};
    const WhyNoCode why_none = write(file, *cubin);
    syscall(SYS_close, file);
    if (why_none != WhyNoCode::kept) syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    return {why_none, code};
  }

 private:
  WhyNoCode write(int file, const CubinFile& cubin) {
    uint64_t written = 0;
    bool room = true;
    const Status whole = cubin.write_kept_part([&](std::span<const uint8_t> part) {
      written += part.size();
      room = bytes_ + written <= kMostBytes;
      return room && within_file_limit(written) &&
             syscall(SYS_write, file, part.data(), part.size()) == static_cast<long>(part.size());
    });
    if (!whole) return room ? WhyNoCode::not_written : WhyNoCode::no_room;
    bytes_ += written;
    return WhyNoCode::kept;
  }

  const char* folder_ = "";
  uint64_t bytes_ = 0;
};

}  // namespace diogenes
