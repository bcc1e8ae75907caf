// Units as types. Used in memory everywhere; on disk a unit is part of the field's name (begin_ns).
// Safe inside a target process: no allocation, no exceptions, no locks.
#pragma once
#include <time.h>

#include <compare>
#include <cstdint>

namespace diogenes {

// A length of time, or a point on CLOCK_MONOTONIC where the name ends in `_at` or `begin`/`end`.
struct Nanoseconds {
  int64_t count = 0;

  constexpr auto operator<=>(const Nanoseconds&) const = default;
  constexpr Nanoseconds operator+(Nanoseconds other) const { return {count + other.count}; }
  constexpr Nanoseconds operator-(Nanoseconds other) const { return {count - other.count}; }
  constexpr Nanoseconds& operator+=(Nanoseconds other) {
    count += other.count;
    return *this;
  }
  constexpr Nanoseconds& operator-=(Nanoseconds other) {
    count -= other.count;
    return *this;
  }
  constexpr double seconds() const { return static_cast<double>(count) * 1e-9; }
};

struct Bytes {
  uint64_t count = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
};

// Now, on CLOCK_MONOTONIC: the one clock of all stages, launcher and agent alike.
inline Nanoseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec};
}

}  // namespace diogenes
