#include "trace/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace diogenes {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return error("%s: %s", path.c_str(), strerror(errno));
  struct stat status {};
  MappedFile file;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return error("%s: not a regular file", path.c_str());
  }
  if (status.st_size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      int cause = errno;
      close(descriptor);
      return error("%s: cannot be mapped: %s", path.c_str(), strerror(cause));
    }
    file.data_ = static_cast<const std::byte*>(data);
    file.size_ = static_cast<size_t>(status.st_size);
  }
  close(descriptor);
  return file;
}

void MappedFile::release_pages() const {
  if (data_) madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace diogenes
