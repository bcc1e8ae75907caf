// What the judge can forget: accesses, log entries and clock components that no later event can ask for.
#include "analysis/necessity/judge/judge.h"

namespace diogenes::necessity {

AccessIndex Judge::add(const Access& access, StreamNumber stream, uint32_t tick, uint32_t blind) {
  const AccessIndex index = frontier_.add(access, stream, tick, blind);
  ++entries_;
  Frontier::List& list = frontier_.list_of(frontier_[index]);
  if (blind != 0) {
    for (AccessIndex other : list.accesses) {
      LiveAccess& effect = frontier_[other];
      const bool same = effect.stream == stream && effect.tick < tick && (effect.blind & ~blind) == 0;
      if (!same || effect.replaced != 0) continue;
      effect.replaced_in = stream;
      effect.replaced = tick;
    }
  }
  if (list.accesses.size() > list.most) prune(list);
  return index;
}

// No thread can need anything for it any more, or its copy can go.
bool Judge::is_settled(const LiveAccess& live) const {
  if (live.is_dead_download()) return true;
  for (const ThreadNumber thread : views_.living()) {
    if (views_.threads()[thread.value].known->solid.covers(live.stream, live.tick)) continue;
    if (live.held_by(key_of(thread)) != Sureness::certain) return false;
  }
  return true;
}

// An access can go when a later one of its stream does the same, and nobody knows the one to be done and not
// the other: then whoever comes later knows of both or of none, and the later one stands for both.
void Judge::prune(Frontier::List& list) {
  struct Pair {
    AccessIndex index;
    ClockKey stream, later_stream;
    uint32_t tick, later_tick;
  };
  std::vector<Pair> pairs;  // that nobody tells apart, as far as we have looked
  for (AccessIndex index : list.accesses) {
    const LiveAccess& live = frontier_[index];
    if (live.replaced == 0) continue;
    // Who knows work of a stream knows what came there before, so few tell apart two of one stream.
    const bool there = live.replaced_there != 0;
    pairs.push_back({index, key_of(live.stream), key_of(there ? live.stream : live.replaced_in), live.tick,
                     there ? live.replaced_there : live.replaced});
  }
  auto in_clock = [&](const Clock& clock) {
    std::erase_if(pairs, [&](const Pair& pair) {
      return clock[pair.stream] >= pair.tick && clock[pair.later_stream] < pair.later_tick;
    });
  };
  views_.each_holder(
      [&](const Knowledge& knowledge) {
        if (pairs.empty()) return;
        in_clock(knowledge.certain);
        in_clock(knowledge.possible);
      },
      [&](StreamNumber stream, uint32_t tick, const Knowledge& known) {
        const ClockKey key = key_of(stream);
        std::erase_if(pairs, [&](const Pair& pair) {
          if (pair.stream != key || tick < pair.tick) return false;
          return std::max(known.certain[pair.later_stream], pair.later_stream == key ? tick : 0) <
                 pair.later_tick;
        });
      });
  for (const OfThread& thread : threads_) {
    for (const Running& running : thread.running) in_clock(running.possible);
  }
  for (const Pair& pair : pairs) {
    if (!is_settled(frontier_[pair.index])) frontier_.stands_for(list, frontier_[pair.index]);
    frontier_.remove(pair.index);
  }
  list.most = 2 * list.accesses.size() + 8 + views_.holders() / 8;
}

void Judge::collect() {
  frontier_.each_list([&](Frontier::List& list) {
    if (!list.accesses.empty()) prune(list);
  });
  CoverLog::LiveTicks live;
  frontier_.each([&](AccessIndex index) { live[frontier_[index].stream].push_back(frontier_[index].tick); });
  gated_pairs_.forget([&](GatedPairs::Work work, AccessIndex index) {
    return !frontier_[index].is_of(work.stream, work.tick);
  });
  gated_pairs_.each_gated([&](GatedPairs::Work gated) { live[gated.stream].push_back(gated.tick); });
  views_.each_gate([&](StreamNumber stream, uint32_t tick) { live[stream].push_back(tick); });
  std::vector<std::vector<uint32_t>> positions(threads_.size());
  views_.each_holder(
      [&](const Knowledge& knowledge) {
        for (const Clock::Component& component : knowledge.solid.components()) {
          if (!is_stream(component.key)) positions[number_of(component.key)].push_back(component.value);
        }
      },
      // Whatever can be named by a mark can be asked for.
      [&](StreamNumber stream, uint32_t tick, const Knowledge&) { live[stream].push_back(tick); });
  auto sort = [](std::vector<uint32_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  for (auto& [stream, ticks] : live) sort(ticks);
  for (std::vector<uint32_t>& values : positions) sort(values);
  const std::vector<bool> logged = log_.prune(live, positions);
  entries_ = frontier_.size() + log_.size() + gated_pairs_.size();
  auto wanted = [&](const Clock::Component& component) {
    if (const ThreadNumber thread{number_of(component.key)}; !is_stream(component.key))
      return !views_.threads()[thread.value].ended || logged[thread.value];
    auto at = live.find(StreamNumber{number_of(component.key)});
    return at != live.end() && at->second.front() <= component.value;
  };
  views_.each_holder(
      [&](Knowledge& knowledge) {
        knowledge.solid.keep_if(wanted);
        knowledge.certain.keep_if(wanted);
        knowledge.possible.keep_if(wanted);
      },
      [](StreamNumber, uint32_t, const Knowledge&) {});
  most_entries_ = forgets_after_ == 0 ? 0 : 2 * entries_ + forgets_after_ + views_.holders();
}

}  // namespace diogenes::necessity
