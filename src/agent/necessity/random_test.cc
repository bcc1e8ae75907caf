// Random timelines against a model of DESIGN.md, section 7, that is slow and plain: work is a set, everything
// is a search. Two questions: is each verdict what the definition says, and (whatever the definition says)
// does every use and every order between streams survive when all synchronizations that were called needless
// are removed at once?
#include <gtest/gtest.h>

#include <bitset>
#include <functional>
#include <random>
#include <string>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr int kWork = 512;
using WorkSet = std::bitset<kWork>;

struct Model {
  struct Wait {
    Operation operation;
    WorkSet covers;
    uint32_t reasons = 0;
    int at;  // position in time
    bool stays = false;
  };
  struct Range {
    int writer = -1;  // work that wrote it and has not been used since
    int reader = -1;  // work that reads it as a source
  };
  struct Use {  // work must be known to be done
    int at;
    WorkSet work;
  };
  struct Start {  // of new work: all that the host knew must be before it
    int at;
    WorkSet ordered;  // by streams and events alone
    WorkSet host_knew;
  };

  static constexpr int kStreams = 5;
  bool blocking[kStreams] = {true, true, true, false, false};  // 0: the legacy stream
  WorkSet own[kStreams];                                       // work given to it
  WorkSet frontier[kStreams];  // ordered before its next work; with what the host ordered
  WorkSet pure[kStreams];      // the same by streams and events alone
  WorkSet events[3], pure_events[3];
  bool recorded[3] = {};
  WorkSet kernels, kernels_seen;  // that may have written managed memory; and whose writes were used
  Range ranges[4];
  std::vector<Wait> waits;
  std::vector<Use> uses;
  std::vector<Start> starts;
  std::vector<int> stream_of;
  int settled[kStreams] = {-1, -1, -1, -1, -1};  // the last work of a stream that a wait covers which stays
  int now = 0;

  WorkSet known() const {
    WorkSet all;
    for (auto& wait : waits) all |= wait.covers;
    return all;
  }
  Wait* latest_covering(int work) {
    for (size_t i = waits.size(); i-- > 0;)
      if (waits[i].covers[work]) return &waits[i];
    return nullptr;
  }
  int last_of(const WorkSet& set) const {
    for (int i = kWork; i-- > 0;)
      if (set[i]) return i;
    return -1;
  }

  // A wait is needed. Whoever stays where it is settles what it covers.
  void credit(Wait& wait, uint32_t reason) {
    wait.reasons |= reason;
    if ((reason & ~kMovableReasons) == 0 || wait.stays) return;
    wait.stays = true;
    for (int stream = 0; stream < kStreams; ++stream) {
      settled[stream] = std::max(settled[stream], last_of(wait.covers & own[stream]));
    }
  }
  void use_of(int work, uint32_t reason) {
    Wait* owner = latest_covering(work);
    if (work > settled[stream_of[static_cast<size_t>(work)]] || owner->reasons != 0) credit(*owner, reason);
  }

  int start(int stream) {
    ++now;
    auto join = [&](WorkSet* sets) {
      WorkSet all = sets[stream];
      if (stream == 0)
        for (int i = 1; i < kStreams; ++i) all |= blocking[i] ? sets[i] : WorkSet();
      else if (blocking[stream])
        all |= sets[0];
      return all;
    };
    WorkSet before = join(frontier), purely = join(pure), host = known();
    // What the oldest of the waits settles needs no other.
    for (;;) {
      Wait* oldest = nullptr;
      for (int other = 0; other < kStreams; ++other) {
        WorkSet ahead = host & own[other];
        if (other == stream || (ahead & ~before).none() || last_of(ahead) <= settled[other]) continue;
        Wait* owner = latest_covering(last_of(ahead));
        if (!oldest || owner->at < oldest->at) oldest = owner;
      }
      if (!oldest) break;
      credit(*oldest, kOrder);
    }
    starts.push_back({now, purely, host});
    before |= host;
    int work = static_cast<int>(stream_of.size());
    stream_of.push_back(stream);
    before[work] = purely[work] = own[stream][work] = true;
    frontier[stream] = before;
    pure[stream] = purely;
    return work;
  }
  void wait(Operation operation, WorkSet covers) { waits.push_back({operation, covers, 0, ++now}); }

  bool touch(int range, bool write) {
    ++now;
    Range& it = ranges[range];
    bool seen = false;
    auto use = [&](int& work, uint32_t reason) {
      if (work < 0) return;
      Wait* owner = latest_covering(work);
      if (!owner) return;
      use_of(work, reason);
      uses.push_back({now, WorkSet().set(work)});
      work = -1;
      seen = true;
    };
    use(it.writer, kCpuAccess);
    if (write) use(it.reader, kSourceReuse);
    return seen;
  }
  bool touch_managed() {
    ++now;
    WorkSet fresh = kernels & known() & ~kernels_seen;
    for (int stream = 0; stream < kStreams; ++stream) {
      int last = last_of(fresh & own[stream]);
      if (last >= 0) use_of(last, kCpuAccess);
    }
    if (fresh.any()) uses.push_back({now, fresh});
    kernels_seen |= fresh;
    return fresh.any();
  }

  // With the needless ones gone, and only then what the definition is for.
  void check_sound(const std::function<bool(Operation)>& needed) const {
    auto kept = [&](int at) {
      WorkSet all;
      for (auto& wait : waits)
        if (wait.at < at && needed(wait.operation)) all |= wait.covers;
      return all;
    };
    for (auto& use : uses) EXPECT_TRUE((use.work & ~kept(use.at)).none()) << "use at " << use.at;
    for (auto& start : starts)
      EXPECT_TRUE((start.host_knew & ~start.ordered & ~kept(start.at)).none()) << "start at " << start.at;
  }
};

// `at_once`: all uses come right behind the call before. Then other work may lean on whoever was used, which
// the model does not play: only the second question is asked.
void play_all(bool at_once) {
  constexpr int64_t kLate = 1'000'000;
  constexpr uint64_t kHandles[Model::kStreams] = {0, 0x1000, 0x2000, 0x3000, 0x4000};
  constexpr uint64_t kBytes = 64;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    Timeline t;
    Model model;
    std::string story = "seed " + std::to_string(seed) + ":";
    for (int i = 1; i < Model::kStreams; ++i)
      t.stream(kHandles[i], model.blocking[i] ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    void* ranges[4];
    for (auto& range : ranges) range = t.pinned(4096);
    void* managed = seed % 2 ? t.managed(4096) : nullptr;
    uint64_t device = 0x7000;
    int steps = 10 + pick(60);
    for (int step = 0; step < steps; ++step) {
      int stream = pick(Model::kStreams), range = pick(4), event = pick(3);
      uint64_t handle = kHandles[stream], event_handle = 0x9000 + 16 * static_cast<uint64_t>(event);
      switch (pick(11)) {
        case 0:
          story += " launch" + std::to_string(stream);
          t.launch(handle);
          model.kernels[model.start(stream)] = true;
          break;
        case 1:
        case 2: {
          story += " d2h" + std::to_string(stream) + "->" + std::to_string(range);
          t.d2h_async(ranges[range], device, kBytes, handle);
          model.ranges[range].writer = model.start(stream);
          break;
        }
        case 3: {
          // A copy from the range uses what was written there, as the CPU would.
          if (model.ranges[range].writer >= 0 || model.ranges[range].reader >= 0) break;
          story += " h2d" + std::to_string(stream) + "<-" + std::to_string(range);
          t.h2d_async(device, ranges[range], kBytes, handle);
          model.ranges[range].reader = model.start(stream);
          break;
        }
        case 4:
          if (stream == 0) break;  // what it covers beyond its own work is not certain: see verdicts_test
          story += " sync" + std::to_string(stream);
          model.wait(t.synchronize(handle), model.frontier[stream]);
          break;
        case 5: {
          story += " syncall";
          WorkSet all;
          for (auto& one : model.own) all |= one;
          model.wait(t.synchronize_context(), all);
          break;
        }
        case 6:
          if (stream == 0) break;
          story += " record" + std::to_string(stream) + "e" + std::to_string(event);
          t.record(event_handle, handle);
          model.events[event] = model.frontier[stream];
          model.pure_events[event] = model.pure[stream];
          model.recorded[event] = true;
          break;
        case 7:
          if (!model.recorded[event]) break;
          story += " wait" + std::to_string(stream) + "e" + std::to_string(event);
          t.wait(handle, event_handle);
          model.frontier[stream] |= model.events[event];
          model.pure[stream] |= model.pure_events[event];
          break;
        case 8:
          if (!model.recorded[event]) break;
          story += " sync-e" + std::to_string(event);
          model.wait(t.synchronize_event(event_handle), model.events[event]);
          break;
        case 9: {
          bool write = pick(2) == 0;
          story += " touch" + std::to_string(range);
          bool expected = model.touch(range, write);
          // A guard may be up for work that is not covered yet (read again); the reverse must not be.
          bool seen = t.touch(ranges[range], write, TouchBy::program, at_once ? 100 : kLate);
          ASSERT_TRUE(seen || !expected) << story;
          break;
        }
        case 10:
          if (!managed) break;
          story += " managed";
          ASSERT_EQ(t.touch(managed, false, TouchBy::program, at_once ? 100 : kLate), model.touch_managed())
              << story;
          break;
      }
    }
    // One touch may be two uses, of which the second is settled with the first; which that is, is not said.
    auto uses_as_one = [](uint32_t reasons) {
      return reasons & kMovableReasons ? reasons | kMovableReasons : reasons;
    };
    for (size_t i = 0; i < model.waits.size() && !at_once; ++i) {
      const Model::Wait& wait = model.waits[i];
      ASSERT_EQ(uses_as_one(t.reasons(wait.operation)), uses_as_one(wait.reasons))
          << story << "\n op " << wait.operation;
    }
    model.check_sound([&](Operation operation) { return t.reasons(operation) != 0; });
    ASSERT_FALSE(::testing::Test::HasFailure()) << story;
  }
}

TEST(Random, VerdictsAreThoseOfTheDefinition) { play_all(false); }
TEST(Random, VerdictsHoldTogether) { play_all(true); }

}  // namespace
}  // namespace diogenes::agent::testing
