// Lists of thread states, built by hand.
#include "python/thread_list.h"

#include <gtest/gtest.h>

#include "python/testing/interpreter_image.h"

namespace diogenes::python {
namespace {

Layout layout_of_3_15() {
  uint64_t offsets[kDebugOffsetWords];
  testing::debug_offsets(0x030f, false, offsets);
  return layout_from_debug_offsets(offsets);
}

// Two interpreters: the first has the threads 1, 2 and 1 again, the second 3.
class Threads : public ::testing::TestWithParam<bool> {
 protected:
  Threads() : at_(layout_of_3_15()), image_(at_), interpreter_(image_.interpreter) {
    interpreter_.runtime = image_.reserve(2048);
    image_.put(interpreter_.runtime + at_.interpreters, first_ = image_.reserve(128));
    image_.put(first_ + at_.next_interpreter, second_ = image_.reserve(128));
    for (const uintptr_t thread : {1, 2, 1}) states_.push_back(add(first_, thread));
    add(second_, 3);
  }
  // Before those that are there, as CPython does it.
  uintptr_t add(uintptr_t interpreter, uintptr_t thread) {
    const uintptr_t state = image_.reserve(512);
    uintptr_t next = 0;
    memcpy(&next, reinterpret_cast<const void*>(interpreter + at_.threads), sizeof next);
    image_.put(state + at_.next_thread, next);
    if (next != 0) image_.put(next + at_.previous_thread, state);
    image_.put(state + at_.its_interpreter, interpreter);
    image_.put(state + at_.thread_id, thread);
    image_.put(interpreter + at_.threads, state);
    return state;
  }
  uintptr_t find(uintptr_t thread) const {
    return GetParam() ? ThreadList<InPlace>(interpreter_).find(thread)
                      : ThreadList<ThroughKernel>(interpreter_).find(thread);
  }
  bool holds(uintptr_t state, uintptr_t thread) const {
    return ThreadList<ThroughKernel>(interpreter_).holds(state, thread);
  }

  const Layout at_;
  testing::Image image_;
  Interpreter interpreter_;
  uintptr_t first_ = 0, second_ = 0;
  std::vector<uintptr_t> states_;
};

TEST_P(Threads, AreFoundByWhoseTheyAre) {
  EXPECT_EQ(find(2), states_[1]);
  EXPECT_NE(find(3), 0u);
  EXPECT_EQ(find(4), 0u);
  image_.put(states_[0] + at_.frame, uintptr_t{8});  // of two states of a thread, the one with frames
  EXPECT_EQ(find(1), states_[0]);
}

TEST_P(Threads, AreHeldUntilTheyAreTakenOut) {
  for (size_t i = 0; i < states_.size(); ++i) {
    EXPECT_TRUE(holds(states_[i], i == 1 ? 2 : 1));
    EXPECT_FALSE(holds(states_[i], 4));
  }
  // The middle one goes; what it says of itself stays.
  image_.put(states_[2] + at_.next_thread, states_[0]);
  image_.put(states_[0] + at_.previous_thread, states_[2]);
  EXPECT_FALSE(holds(states_[1], 2));
  EXPECT_EQ(find(2), 0u);
  image_.put(first_ + at_.threads, states_[0]);  // the first one, too
  image_.put(states_[0] + at_.previous_thread, uintptr_t{0});
  EXPECT_FALSE(holds(states_[2], 1));
  EXPECT_TRUE(holds(states_[0], 1));
}

INSTANTIATE_TEST_SUITE_P(, Threads, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "in_place" : "through_the_kernel"; });

TEST(DamagedThreads, AreLeftAlone) {
  const Layout layout = layout_of_3_15();
  testing::Image image(layout);
  image.interpreter.runtime = 16;  // nothing lies there
  const ThreadList<ThroughKernel> nowhere(image.interpreter);
  EXPECT_EQ(nowhere.find(1), 0u);
  EXPECT_FALSE(nowhere.holds(0, 1));
  EXPECT_FALSE(nowhere.holds(8, 1));
  EXPECT_FALSE(nowhere.holds(image.state + 4, 1));
  // Lists that lead to themselves end.
  image.interpreter.runtime = image.reserve(2048);
  const uintptr_t interpreter = image.reserve(128), state = image.reserve(512);
  image.put(image.interpreter.runtime + layout.interpreters, interpreter);
  image.put(interpreter + layout.next_interpreter, interpreter);
  image.put(interpreter + layout.threads, state);
  image.put(state + layout.next_thread, state);
  EXPECT_EQ(ThreadList<InPlace>(image.interpreter).find(1), 0u);
}

}  // namespace
}  // namespace diogenes::python
