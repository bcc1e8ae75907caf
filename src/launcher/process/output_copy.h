// What one run wrote to one stream: kept up to a limit, and its length and XXH3-128 hash in full, so that a
// program that writes gigabytes fills no disk and runs can be compared all the same.
#pragma once
#include <xxhash.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace diogenes::launcher {

class OutputCopy {
 public:
  static constexpr uint64_t kDefaultLimit = uint64_t{64} << 20;

  // `file`: where the bytes are kept; empty: only length and hash. A file that cannot be written keeps
  // nothing, silently: the hash still compares.
  explicit OutputCopy(std::filesystem::path file, uint64_t limit = kDefaultLimit);
  // What an earlier process kept in `file`, which is left as it is; null if it is not there, or if there was
  // more than is kept.
  static std::unique_ptr<OutputCopy> of_file(const std::filesystem::path& file);
  ~OutputCopy();
  OutputCopy(const OutputCopy&) = delete;
  OutputCopy& operator=(const OutputCopy&) = delete;

  void add(std::span<const char> bytes);
  void add_file(int fd, uint64_t begin, uint64_t end);  // bytes [begin, end) of another file

  uint64_t length() const { return length_; }
  uint64_t kept() const { return kept_; }
  bool same_as(const OutputCopy& other) const;

  // Where two outputs part, as people say it: "at line 12". Nothing if the parts that were kept do not tell.
  std::string difference(const OutputCopy& other) const;
  // Are they the same but for numbers, and for the blanks that align them? False if the parts that were kept
  // do not tell.
  bool only_figures_differ(const OutputCopy& other) const;

 private:
  std::filesystem::path file_;
  int fd_ = -1;
  uint64_t limit_, length_ = 0, kept_ = 0;
  XXH3_state_t* hash_;
};

}  // namespace diogenes::launcher
