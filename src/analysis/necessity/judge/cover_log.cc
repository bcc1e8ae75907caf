#include "analysis/necessity/judge/cover_log.h"

namespace diogenes::necessity {
namespace {

template <typename Steps>
void climb(Steps& steps, uint32_t tick, InstanceIndex instance) {
  if (steps.empty() || steps.back().tick < tick) steps.push_back({tick, instance});
}

template <typename Steps>
InstanceIndex first(const Steps& steps, uint32_t tick) {
  auto at = std::lower_bound(steps.begin(), steps.end(), tick,
                             [](const auto& step, uint32_t wanted) { return step.tick < wanted; });
  return at == steps.end() ? InstanceIndex{} : at->instance;
}

}  // namespace

// The thread's entries, now that one of its synchronizations may cover the stream up to `tick`.
CoverLog::OfThread& CoverLog::reach(OfStream& stream, ThreadNumber thread, uint32_t tick) {
  size_t at = stream.size();
  while (at > 0 && stream[at - 1].thread->thread != thread) --at;
  if (at == 0) {
    stream.insert(stream.begin(), {0, std::make_unique<OfThread>(OfThread{.thread = thread})});
    at = 1;
  }
  Place& place = stream[at - 1];
  OfThread& found = *place.thread;
  if (place.most >= tick) return found;
  place.most = tick;
  size_t until = at;
  while (until < stream.size() && stream[until].most < tick) ++until;
  const auto begin = stream.begin();
  std::rotate(begin + static_cast<ptrdiff_t>(at - 1), begin + static_cast<ptrdiff_t>(at),
              begin + static_cast<ptrdiff_t>(until));
  return found;
}

size_t CoverLog::add(ThreadNumber thread, InstanceIndex instance, SiteIndex site, uint32_t position,
                     uint32_t epoch, bool documented, const Knowledge& covered) {
  size_t added = 0;
  auto solid = covered.solid.components().begin();
  auto certain = covered.certain.components().begin();
  // What is covered for certain is covered possibly, too.
  for (const Clock::Component& possible : covered.possible.components()) {
    while (solid != covered.solid.components().end() && solid->key < possible.key) ++solid;
    while (certain != covered.certain.components().end() && certain->key < possible.key) ++certain;
    OfThread& log = reach(streams_[StreamNumber{number_of(possible.key)}], thread, possible.value);
    if (solid != covered.solid.components().end() && solid->key == possible.key) {
      const uint32_t most = log.direct.empty() ? 0 : log.direct.back().most;
      log.direct.push_back({position, epoch, solid->value, std::max(most, solid->value), instance, site});
      if (documented && (log.first_direct.empty() || log.first_direct.back().tick < solid->value))
        log.first_direct.push_back({{solid->value, instance}, epoch});
      ++added;
    }
    if (certain != covered.certain.components().end() && certain->key == possible.key) {
      climb(log.certain, certain->value, instance);
    }
    climb(log.possible, possible.value, instance);
    if (documented) climb(log.documented, possible.value, instance);
  }
  return added;
}

void CoverLog::candidates(StreamNumber stream, uint32_t tick, const Clock& solid, ThreadNumber user,
                          std::vector<InstanceIndex>& into) const {
  each_covering(stream, tick, [&](const OfThread& log) {
    const uint32_t position = solid[key_of(log.thread)];
    if (position == 0) return;
    const size_t before = into.size();
    log.candidates(tick, position, {}, into);
    if (!user.valid() || log.thread == user || into.size() == before) return;
    // What is not documented to wait is relied on by nobody.
    const auto first = std::lower_bound(log.first_direct.begin(), log.first_direct.end(), tick,
                                        [](const Step& step, uint32_t wanted) { return step.tick < wanted; });
    if (first == log.first_direct.end()) return;
    into.resize(before);
    log.candidates(tick, position, first->epoch, into);
    if (std::find(into.begin() + static_cast<ptrdiff_t>(before), into.end(), first->instance) == into.end())
      into.push_back(first->instance);
  });
}

void CoverLog::OfThread::candidates(uint32_t tick, uint32_t position, std::optional<uint32_t> epoch,
                                    std::vector<InstanceIndex>& into) const {
  std::vector<SiteIndex> seen;
  for (size_t i = direct.size(); i-- > 0;) {
    const Direct& one = direct[i];
    if (one.most < tick) break;
    if (one.position > position || one.tick < tick || (epoch && one.epoch != *epoch)) continue;
    if (std::find(seen.begin(), seen.end(), one.site) != seen.end()) continue;
    seen.push_back(one.site);
    into.push_back(one.instance);
  }
}

CoverLog::Firsts CoverLog::OfThread::firsts(uint32_t tick) const {
  return {first(certain, tick), first(possible, tick), first(documented, tick)};
}

CoverLog::Firsts CoverLog::firsts(ThreadNumber thread, StreamNumber stream, uint32_t tick) const {
  Firsts found;
  each_covering(stream, tick, [&](const OfThread& log) {
    if (log.thread == thread) found = log.firsts(tick);
  });
  return found;
}

void CoverLog::OfThread::prune(const std::vector<uint32_t>& ticks, const std::vector<uint32_t>& positions) {
  auto prune_steps = [&](auto& steps) {
    uint32_t before = 0;
    std::erase_if(steps, [&](const Step& step) {
      auto asked = std::upper_bound(ticks.begin(), ticks.end(), before);
      before = step.tick;
      return asked == ticks.end() || *asked > step.tick;
    });
  };
  prune_steps(first_direct);
  prune_steps(certain);
  prune_steps(possible);
  prune_steps(documented);
  // From the last to the first: does a later one of the site replace it for everybody who knows it?
  std::unordered_map<SiteIndex, Direct> later;
  std::vector<Direct> kept;
  for (size_t i = direct.size(); i-- > 0;) {
    const Direct& one = direct[i];
    if (one.tick < ticks.front()) continue;
    auto replaced = later.find(one.site);
    if (replaced != later.end() && replaced->second.tick >= one.tick) {
      auto knows = std::lower_bound(positions.begin(), positions.end(), one.position);
      if (knows == positions.end() || *knows >= replaced->second.position) continue;
    }
    kept.push_back(one);
    later[one.site] = one;
  }
  direct.assign(kept.rbegin(), kept.rend());
  uint32_t most = 0;
  for (Direct& one : direct) one.most = most = std::max(most, one.tick);
}

std::vector<bool> CoverLog::prune(const LiveTicks& live,
                                  const std::vector<std::vector<uint32_t>>& positions) {
  std::vector<bool> left(positions.size());
  for (auto at = streams_.begin(); at != streams_.end();) {
    auto& [number, stream] = *at;
    if (auto found = live.find(number); found == live.end()) {
      stream.clear();
    } else {
      std::erase_if(stream, [&](const Place& place) {
        const uint32_t thread = place.thread->thread.value;
        place.thread->prune(found->second, positions[thread]);
        if (!place.thread->empty()) left[thread] = true;
        return place.thread->empty();
      });
    }
    at = stream.empty() ? streams_.erase(at) : std::next(at);
  }
  return left;
}

size_t CoverLog::size() const {
  size_t size = 0;
  for (const auto& [number, stream] : streams_) {
    for (const auto& [most, log] : stream)
      size += log->direct.size() + log->certain.size() + log->possible.size();
  }
  return size;
}

}  // namespace diogenes::necessity
