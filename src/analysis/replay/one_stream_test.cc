// The short way through a schedule of one thread and one stream gives what the events give, changed or not.
#include "analysis/replay/one_stream.h"

#include <gtest/gtest.h>

#include <random>

namespace diogenes::replay {
namespace {

struct Random {
  std::mt19937_64 engine;
  int64_t below(int64_t limit) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
};

struct Case {
  Schedule schedule;
  std::vector<int64_t> durations;
  std::vector<Edit> edits;
  Machine machine;
};

Case random_case(uint64_t seed) {
  Random random{std::mt19937_64(seed)};
  Case made;
  Schedule& schedule = made.schedule;
  schedule.streams = 1;
  schedule.events = 3;
  schedule.main_thread = 0;
  schedule.idle_wait = 400;
  made.machine = {random.below(5000),
                  random.below(3000),
                  random.below(8000),
                  static_cast<uint32_t>(1 + random.below(6)),
                  false,
                  true};
  ThreadSchedule& thread = schedule.threads.emplace_back();
  thread.main = true;
  int64_t now = 0;
  int64_t nodes = 5 + random.below(200);
  for (int64_t i = 0; i < nodes; ++i) {
    now += random.below(20'000);
    Node node;
    node.begin = now;
    node.own = random.below(3'000);
    node.operation = static_cast<uint32_t>(i);
    node.stream = 0;
    node.recording = static_cast<uint32_t>(100 * random.below(3));
    int64_t kind = random.below(10);
    if (kind < 4) {
      node.work = static_cast<Work>(1 + random.below(4));
      if (random.chance(30)) node.waits = Waits::own;
    } else if (kind < 6) {
      node.work = random.chance(50) ? Work::record : Work::wait_event;
      node.event = static_cast<uint32_t>(random.below(3));
    } else {
      node.waits = random.chance(30) ? Waits::event : random.chance(50) ? Waits::context : Waits::stream;
      if (node.waits == Waits::event) node.event = static_cast<uint32_t>(random.below(3));
    }
    bool unseen = node.work == Work::none && random.chance(10);
    if (node.waits != Waits::no) node.waited = random.chance(30) ? random.below(400) : random.below(30'000);
    if (unseen || (node.work >= Work::kernel && node.work <= Work::on_device)) {
      node.gpu = schedule.gpu_operations++;
      schedule.copies.emplace_back();
      made.durations.push_back(random.below(40'000));
    }
    if (random.chance(15)) {
      Edit edit{.node = static_cast<uint32_t>(i)};
      edit.call_removed = random.chance(50);
      edit.wait_removed = random.chance(70);
      if (random.chance(30)) edit.own = random.below(4'000);
      if (random.chance(30)) edit.before = random.below(6'000);
      if (node.waits != Waits::no && random.chance(30)) {
        edit.use_node = static_cast<uint32_t>(std::min(i + 1 + random.below(6), nodes));
        edit.use_offset = random.below(20'000);
      }
      made.edits.push_back(edit);
    }
    now = node.end();
    thread.nodes.push_back(node);
  }
  thread.exit = schedule.end = now + random.below(20'000);
  thread.recording_behind = static_cast<uint32_t>(100 * random.below(3));
  return made;
}

TEST(OneStream, GivesWhatTheEventsGive) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Case made = random_case(seed);
    ASSERT_TRUE(in_one_stream(made.schedule));
    for (bool as_event : {true, false}) {
      Setting setting{true, true, as_event};
      std::vector<Checkpoint> points;
      int64_t base =
          simulate_one_stream(made.schedule, made.durations, made.machine, setting, {}, &points).end;
      ASSERT_EQ(base, simulate_events(made.schedule, made.durations, made.machine, setting, {}).end) << seed;
      int64_t fixed = simulate_events(made.schedule, made.durations, made.machine, setting, made.edits).end;
      auto one = [&](const std::vector<Checkpoint>* use) {
        return simulate_one_stream(made.schedule, made.durations, made.machine, setting, made.edits, nullptr,
                                   use)
            .end;
      };
      ASSERT_EQ(one(nullptr), fixed) << seed;
      // Skipping takes the distance of operations on an idle GPU as the latency.
      if (made.machine.gap <= made.machine.launch_latency) {
        ASSERT_EQ(one(&points), fixed) << seed;
      }
      changed += fixed != base;
    }
  }
  EXPECT_GT(changed, 4000);
}

}  // namespace
}  // namespace diogenes::replay
