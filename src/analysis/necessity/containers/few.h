// A vector of plain values that holds the first few of them in itself: most clocks have few components, and
// are copied often.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace diogenes::necessity {

template <typename Value, uint32_t kFew>
class Few {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  Few() = default;
  Few(const Few& other) { *this = other; }
  Few(Few&& other) noexcept { *this = std::move(other); }
  Few& operator=(const Few& other) {
    if (this == &other) return *this;
    size_ = 0;
    reserve(other.size_);
    std::copy(other.begin(), other.end(), begin());
    size_ = other.size_;
    return *this;
  }
  Few& operator=(Few&& other) noexcept {
    if (this == &other) return *this;
    many_ = std::move(other.many_);
    room_ = std::exchange(other.room_, kFew);
    size_ = std::exchange(other.size_, 0);
    if (!many_) std::copy(other.few_, other.few_ + size_, few_);
    return *this;
  }
  ~Few() = default;

  Value* begin() { return many_ ? many_.get() : few_; }
  Value* end() { return begin() + size_; }
  const Value* begin() const { return many_ ? many_.get() : few_; }
  const Value* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void reserve(size_t room) {
    if (room <= room_) return;
    auto more = std::make_unique_for_overwrite<Value[]>(room);
    std::copy(begin(), end(), more.get());
    many_ = std::move(more);
    room_ = static_cast<uint32_t>(room);
  }
  void push_back(Value value) {
    if (size_ == room_) reserve(2 * room_);
    begin()[size_++] = value;
  }
  void insert(size_t at, Value value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  template <typename Gone>
  void erase_if(Gone gone) {
    size_ = static_cast<uint32_t>(std::remove_if(begin(), end(), gone) - begin());
  }

 private:
  std::unique_ptr<Value[]> many_;
  uint32_t size_ = 0, room_ = kFew;
  Value few_[kFew];
};

}  // namespace diogenes::necessity
