// Guards by watchpoints, for tests: skipped where the machine has none.
#pragma once
#include <gtest/gtest.h>

#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/testing/child.h"
#include "base/watchpoints_fire.h"

namespace diogenes::agent {

inline GuardHandle watch(const volatile void* at, size_t bytes,
                         Protection protection = Protection::no_access) {
  return raise_guard(AddressRange::of(reinterpret_cast<uintptr_t>(at), bytes), protection,
                     {WatchMethod::watchpoints, {}});
}

class Watchpoints : public testing::Test {
 protected:
  void SetUp() override {
    bool there = status_of([] {
                   alignas(8) static volatile uint64_t word;
                   if (!start_guards() || watch(&word, 8) == kNoGuard) _exit(3);
                 }) == 0;
    if (watchpoints_never_fire()) GTEST_SKIP() << "watchpoints do not fire on this machine";
    if (!there) GTEST_SKIP() << "no hardware watchpoints";
  }
};

class WatchGuards : public Watchpoints {};

}  // namespace diogenes::agent
