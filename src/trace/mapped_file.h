// A whole file, read-only in memory. The pages belong to the file, so a trace costs memory only where it is
// looked at.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "base/result.h"

namespace diogenes {

class MappedFile {
 public:
  // Errors: no such file, no permission, not a regular file. An empty file is a mapping of no bytes.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  size_t size() const { return size_; }

  // Gives the pages back; what is looked at again is read from the file again.
  void release_pages() const;

  // The object at `offset`, or null where the file does not hold all of it. Offsets are multiples of 8 in
  // every file of the format, and mappings begin at pages, so the object is aligned.
  template <typename T>
  const T* at(uint64_t offset) const {
    if (offset % alignof(T) != 0 || offset > size_ || size_ - offset < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace diogenes
