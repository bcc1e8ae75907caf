// Identities as types: an index into one table cannot be taken for an index into another.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace diogenes {

template <typename Tag>
struct Index {
  uint32_t value = kNone;
  static constexpr uint32_t kNone = 0xffffffff;

  constexpr auto operator<=>(const Index&) const = default;
  constexpr bool valid() const { return value != kNone; }
};

using StackIndex = Index<struct StackTag>;        // into one process's interned stacks
using ModuleIndex = Index<struct ModuleTag>;      // into one process's module map
using FunctionIndex = Index<struct FunctionTag>;  // into driver/catalogue.h

}  // namespace diogenes

template <typename Tag>
struct std::hash<diogenes::Index<Tag>> {
  size_t operator()(diogenes::Index<Tag> index) const noexcept { return index.value; }
};
