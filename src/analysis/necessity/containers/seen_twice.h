// Which of many hashes were seen twice: none that was is missed, and fewer than one in ten others are taken for such.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace diogenes::necessity {

class SeenTwice {
 public:
  // So many are going to be seen.
  explicit SeenTwice(size_t count) : once_(std::bit_ceil(kBitsEach * count + 1)), twice_(once_.size()) {}

  void see(uint64_t hash) {
    const size_t at = place(hash);
    if (once_[at]) twice_[at] = true;
    once_[at] = true;
  }
  // False: it was seen once at most.
  bool maybe(uint64_t hash) const { return twice_[place(hash)]; }

 private:
  static constexpr size_t kBitsEach = 16;
  size_t place(uint64_t hash) const { return hash & (once_.size() - 1); }
  std::vector<bool> once_, twice_;
};

}  // namespace diogenes::necessity
