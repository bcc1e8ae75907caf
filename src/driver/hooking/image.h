// An ELF shared object as a file: its build-id, its exports, its functions' bounds, its bytes by image
// offset. Source: the file alone, read by libelf; nothing is loaded or run. Function bounds come from `.eh_frame`,
// because libcuda has no symbols for its internal functions but full unwind information (facts). For x86-64, 64-bit
// little-endian. The file may be garbage: whatever can be read is there, the rest is missing, and nothing crashes.
// Exports and `.eh_frame` are found by the table of sections, which `strip` leaves; a file without it is refused.
//
// All positions are image offsets: virtual address minus image base, the base being the lowest PT_LOAD's
// page. In a process, address = l_addr + image_base() + offset.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/build_id.h"
#include "base/result.h"

namespace diogenes {

class Image {
 public:
  struct Export {
    std::string_view name;  // points into the image
    uint64_t offset;
    uint64_t size;
    bool indirect;  // STT_GNU_IFUNC: `offset` is the resolver, not the function
  };
  struct Function {
    uint64_t offset;
    uint64_t size;
    uint64_t end() const { return offset + size; }
  };
  struct Segment {
    uint64_t offset;  // image offset
    uint64_t memory_bytes;
    std::span<const uint8_t> contents;  // what the file holds of it
    bool executable;
  };

  static Result<Image> open(const std::filesystem::path& path);
  static Result<Image> from_bytes(std::vector<uint8_t> bytes, std::string name);

  const std::string& path() const { return path_; }
  const BuildId& build_id() const { return build_id_; }
  uint64_t image_base() const {
    return image_base_;
  }  // virtual address of offset 0; 0 for nearly every library

  // Defined functions of the dynamic symbol table, sorted by name. A name with several versions is there
  // several times.
  std::span<const Export> exports() const { return exports_; }
  const Export* find_export(std::string_view name) const;
  bool is_export(uint64_t offset) const;  // does an exported function begin there?

  // Function bounds of .eh_frame, sorted by offset, no two with the same offset.
  std::span<const Function> functions() const { return functions_; }
  const Function* containing_function(uint64_t offset) const;
  // The first function that begins after `offset`, or null.
  const Function* function_after(uint64_t offset) const;

  std::span<const Segment> segments() const { return segments_; }
  // The bytes from `offset` on, at most `length`, fewer where the segment or the file ends, none where there
  // is nothing.
  std::span<const uint8_t> bytes_at(uint64_t offset, uint64_t length) const;
  bool executable(uint64_t offset) const;

 private:
  struct Storage;
  friend class ImageReader;
  friend Result<BuildId> build_id_of(const std::filesystem::path& path);
  Image() = default;
  static Result<std::shared_ptr<const Storage>> map(const std::filesystem::path& path);
  static Result<Image> from_storage(std::shared_ptr<const Storage> storage, std::string name);

  std::shared_ptr<const Storage> storage_;
  std::string path_;
  BuildId build_id_;
  uint64_t image_base_ = 0;
  std::vector<Segment> segments_;
  std::vector<Export> exports_;
  std::vector<uint64_t> export_offsets_;
  std::vector<Function> functions_;
};

// Without the rest, which takes longer. Length 0: it has none. Error: as Image::open() has it.
Result<BuildId> build_id_of(const std::filesystem::path& path);

}  // namespace diogenes
