#include "launcher/process/output_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

namespace diogenes::launcher {

OutputCopy::OutputCopy(std::filesystem::path file, uint64_t limit)
    : file_(std::move(file)), limit_(limit), hash_(XXH3_createState()) {
  XXH3_128bits_reset(hash_);
  if (!file_.empty()) fd_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

std::unique_ptr<OutputCopy> OutputCopy::of_file(const std::filesystem::path& file) {
  int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  auto copy = std::make_unique<OutputCopy>(std::filesystem::path());
  copy->add_file(fd, 0, kDefaultLimit);
  close(fd);
  if (copy->length() == kDefaultLimit) return nullptr;
  copy->file_ = file;
  copy->kept_ = copy->length_;
  return copy;
}

OutputCopy::~OutputCopy() {
  if (fd_ >= 0) close(fd_);
  XXH3_freeState(hash_);
}

void OutputCopy::add(std::span<const char> bytes) {
  XXH3_128bits_update(hash_, bytes.data(), bytes.size());
  length_ += bytes.size();
  uint64_t room = std::min<uint64_t>(bytes.size(), limit_ - kept_);
  const char* next = bytes.data();
  while (fd_ >= 0 && room > 0) {
    ssize_t written = write(fd_, next, room);
    if (written <= 0) {  // disk full: what is there stays, the hash goes on
      close(fd_);
      fd_ = -1;
      return;
    }
    kept_ += static_cast<uint64_t>(written);
    room -= static_cast<uint64_t>(written);
    next += written;
  }
}

void OutputCopy::add_file(int fd, uint64_t begin, uint64_t end) {
  std::vector<char> buffer(size_t{1} << 18);
  while (begin < end) {
    ssize_t got =
        pread(fd, buffer.data(), std::min<uint64_t>(buffer.size(), end - begin), static_cast<off_t>(begin));
    if (got <= 0) return;
    add({buffer.data(), static_cast<size_t>(got)});
    begin += static_cast<uint64_t>(got);
  }
}

bool OutputCopy::same_as(const OutputCopy& other) const {
  return length_ == other.length_ &&
         XXH128_isEqual(XXH3_128bits_digest(hash_), XXH3_128bits_digest(other.hash_)) != 0;
}

namespace {

// A text with each number as '0' and each row of blanks as one: "took 1.5e-3 s" reads "took 0 s".
class Masked {
 public:
  static constexpr int kEnd = -1;
  explicit Masked(std::istream& in) : in_(*in.rdbuf()) {}

  int next() {
    const int first = in_.sbumpc();
    if (first == ' ' || first == '\t') {
      while (in_.sgetc() == ' ' || in_.sgetc() == '\t') in_.sbumpc();
      return ' ';
    }
    if (!is_digit(first)) return first;
    for (int last = first;;) {
      const int here = in_.sgetc();
      const bool exponent = (last == 'e' || last == 'E') && (here == '+' || here == '-');
      if (!is_digit(here) && here != '.' && here != 'e' && here != 'E' && !exponent) return '0';
      last = in_.sbumpc();
    }
  }

 private:
  static bool is_digit(int letter) { return letter >= '0' && letter <= '9'; }
  std::streambuf& in_;
};

}  // namespace

std::string OutputCopy::difference(const OutputCopy& other) const {
  std::ifstream mine(file_, std::ios::binary), theirs(other.file_, std::ios::binary);
  if (!mine || !theirs) return {};
  uint64_t line = 1, compared = 0;
  std::array<char, 65536> a{}, b{};
  while (mine && theirs) {
    mine.read(a.data(), a.size());
    theirs.read(b.data(), b.size());
    auto both = std::min(mine.gcount(), theirs.gcount());
    for (std::streamsize i = 0; i < both; ++i, ++compared) {
      auto at = static_cast<size_t>(i);
      if (a[at] != b[at]) return fmt::format("at line {}", line);
      if (a[at] == '\n') ++line;
    }
    if (mine.gcount() != theirs.gcount()) break;
  }
  // One is the other's beginning, as far as both were kept.
  if (compared == std::min(length_, other.length_)) return fmt::format("at line {}", line);
  return {};
}

bool OutputCopy::only_figures_differ(const OutputCopy& other) const {
  if (kept_ != length_ || other.kept_ != other.length_) return false;
  std::ifstream mine(file_, std::ios::binary), theirs(other.file_, std::ios::binary);
  if (!mine || !theirs) return false;
  Masked a(mine), b(theirs);
  for (;;) {
    const int one = a.next(), two = b.next();
    if (one != two) return false;
    if (one == Masked::kEnd) return true;
  }
}

}  // namespace diogenes::launcher
