// A map from numbers (base/index.h) that finds those that were asked for lately without hashing.
#pragma once
#include <array>
#include <unordered_map>

namespace diogenes::necessity {

template <typename Number, typename Value>
class NumberMap {
 public:
  NumberMap() = default;
  NumberMap(const NumberMap&) = delete;
  NumberMap& operator=(const NumberMap&) = delete;

  // Null: not there. It stays where it is until it is erased.
  Value* find(Number number) {
    Recent& recent = recent_[number.value % recent_.size()];
    if (recent.value && recent.number == number) return recent.value;
    auto at = values_.find(number);
    if (at == values_.end()) return nullptr;
    recent = {number, &at->second};
    return recent.value;
  }
  const Value* find(Number number) const {
    const Recent& recent = recent_[number.value % recent_.size()];
    if (recent.value && recent.number == number) return recent.value;
    auto at = values_.find(number);
    return at == values_.end() ? nullptr : &at->second;
  }
  Value& operator[](Number number) {
    if (Value* value = find(number)) return *value;
    Value& value = values_[number];
    recent_[number.value % recent_.size()] = {number, &value};
    return value;
  }
  bool contains(Number number) const { return find(number) != nullptr; }
  void erase(Number number) {
    Recent& recent = recent_[number.value % recent_.size()];
    if (recent.number == number) recent = {};
    values_.erase(number);
  }
  size_t size() const { return values_.size(); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  struct Recent {
    Number number;
    Value* value = nullptr;
  };
  std::array<Recent, 16> recent_;
  std::unordered_map<Number, Value> values_;
};

}  // namespace diogenes::necessity
