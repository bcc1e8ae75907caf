// What can be forgotten of the two orders: accesses and clock components that no later event can ask for.
#include "analysis/necessity/order/both_orders.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kMostAccesses = 1 << 16;  // of a memory, that cannot be told to be without effect

}  // namespace

// No thread can need anything for it any more, or its copy can go.
bool BothOrders::is_settled(const LiveAccess& live) const {
  return live.is_dead_download() ||
         std::all_of(kept_.living().begin(), kept_.living().end(), [&](ThreadNumber thread) {
           return kept_.threads()[thread.value].known->certain.covers(live.stream, live.tick);
         });
}

// An access can go when a later one of its stream does the same, and nobody knows the one to be done and not
// the other, in neither order: then whoever comes later knows of both or of none.
void BothOrders::prune(Frontier::List& list) {
  struct Pair {
    AccessIndex index;
    StreamNumber stream;
    uint32_t tick, later;
  };
  std::vector<Pair> pairs;  // that nobody tells apart, as far as we have looked
  for (AccessIndex index : list.accesses) {
    const LiveAccess& live = frontier_[index];
    if (live.replaced != 0) pairs.push_back({index, live.stream, live.tick, live.replaced});
  }
  auto in_clock = [&](const Clock& clock) {
    std::erase_if(pairs, [&](const Pair& pair) {
      const uint32_t known = clock[key_of(pair.stream)];
      return known >= pair.tick && known < pair.later;
    });
  };
  both([&](OrderStates& views) {
    views.each_holder(
        [&](const Knowledge& knowledge) {
          if (pairs.empty()) return;
          in_clock(knowledge.certain);
          in_clock(knowledge.possible);
        },
        [&](StreamNumber stream, uint32_t tick, const Knowledge&) {
          std::erase_if(pairs, [&](const Pair& pair) {
            return pair.stream == stream && tick >= pair.tick && tick < pair.later;
          });
        });
  });
  for (const OfThread& thread : threads_) {
    for (const Running& running : thread.running) in_clock(running.possible);
  }
  for (const Pair& pair : pairs) {
    if (!is_settled(frontier_[pair.index])) frontier_.stands_for(list, frontier_[pair.index]);
    frontier_.remove(pair.index);
  }
  if (list.accesses.size() > kMostAccesses) {
    const std::vector<AccessIndex> gone(list.accesses.begin(), list.accesses.begin() + kMostAccesses / 2);
    for (AccessIndex index : gone) frontier_.remove(index);
    unchecked_ += gone.size();
  }
  list.most = 2 * list.accesses.size() + 8 + (all_.holders() + kept_.holders()) / 8;
}

// A component of a clock is asked for only by accesses, and by what can be named: streams' and events'
// points.
void BothOrders::forget() {
  std::unordered_map<StreamNumber, uint32_t> first;  // that can be asked for
  auto ask = [&](StreamNumber stream, uint32_t tick) {
    uint32_t& value = first.try_emplace(stream, tick).first->second;
    value = std::min(value, tick);
  };
  frontier_.each([&](AccessIndex index) { ask(frontier_[index].stream, frontier_[index].tick); });
  gated_.each([&](StreamNumber stream, uint32_t tick, const Gated&) { ask(stream, tick); });
  both([&](OrderStates& views) {
    views.each_gate(ask);
    views.each_holder([](const Knowledge&) {},
                      [&](StreamNumber stream, uint32_t tick, const Knowledge&) { ask(stream, tick); });
  });
  auto wanted = [&](const Clock::Component& component) {
    if (!is_stream(component.key)) return !all_.threads()[number_of(component.key)].ended;
    auto at = first.find(StreamNumber{number_of(component.key)});
    return at != first.end() && at->second <= component.value;
  };
  both([&](OrderStates& views) {
    views.each_holder(
        [&](Knowledge& knowledge) {
          knowledge.solid.keep_if(wanted);
          knowledge.certain.keep_if(wanted);
          knowledge.possible.keep_if(wanted);
        },
        [](StreamNumber, uint32_t, const Knowledge&) {});
  });
  until_forgetting_ =
      forgets_after_ == 0 ? 0 : frontier_.size() + forgets_after_ + all_.holders() + kept_.holders();
}

}  // namespace diogenes::necessity
