#include "analysis/necessity/judge/cover_log.h"

namespace diogenes::necessity {

void CoverLog::climb(std::vector<Step>& steps, uint32_t tick, InstanceIndex instance) {
  if (steps.empty() || steps.back().tick < tick) steps.push_back({tick, instance});
}

InstanceIndex CoverLog::first(const std::vector<Step>& steps, uint32_t tick) {
  auto at = std::lower_bound(steps.begin(), steps.end(), tick,
                             [](const Step& step, uint32_t wanted) { return step.tick < wanted; });
  return at == steps.end() ? InstanceIndex{} : at->instance;
}

const CoverLog::OfStream* CoverLog::find(StreamNumber stream) const {
  auto at = streams_.find(stream);
  return at == streams_.end() ? nullptr : &at->second;
}

size_t CoverLog::add(InstanceIndex instance, SiteIndex site, uint32_t position, bool documented,
                     const Knowledge& covered) {
  size_t added = 0;
  auto solid = covered.solid.components().begin();
  auto certain = covered.certain.components().begin();
  // What is covered for certain is covered possibly, too.
  for (const Clock::Component& possible : covered.possible.components()) {
    while (solid != covered.solid.components().end() && solid->key < possible.key) ++solid;
    while (certain != covered.certain.components().end() && certain->key < possible.key) ++certain;
    OfStream& stream = streams_[StreamNumber{number_of(possible.key)}];
    if (solid != covered.solid.components().end() && solid->key == possible.key) {
      const uint32_t most = stream.direct.empty() ? 0 : stream.direct.back().most;
      stream.direct.push_back({position, solid->value, std::max(most, solid->value), instance, site});
      ++added;
    }
    if (certain != covered.certain.components().end() && certain->key == possible.key) {
      climb(stream.certain, certain->value, instance);
    }
    climb(stream.possible, possible.value, instance);
    if (documented) climb(stream.documented, possible.value, instance);
  }
  return added;
}

void CoverLog::candidates(StreamNumber stream, uint32_t tick, uint32_t position,
                          std::vector<InstanceIndex>& into) const {
  const OfStream* found = find(stream);
  if (!found) return;
  std::vector<SiteIndex> seen;
  for (size_t i = found->direct.size(); i-- > 0;) {
    const Direct& direct = found->direct[i];
    if (direct.most < tick) break;
    if (direct.position > position || direct.tick < tick) continue;
    if (std::find(seen.begin(), seen.end(), direct.site) != seen.end()) continue;
    seen.push_back(direct.site);
    into.push_back(direct.instance);
  }
}

void CoverLog::prune(const LiveTicks& live, const std::vector<uint32_t>& positions) {
  for (auto at = streams_.begin(); at != streams_.end();) {
    auto found = live.find(at->first);
    if (found == live.end()) {
      at = streams_.erase(at);
      continue;
    }
    const std::vector<uint32_t>& ticks = found->second;
    auto prune_steps = [&](std::vector<Step>& steps) {
      uint32_t before = 0;
      std::erase_if(steps, [&](const Step& step) {
        auto asked = std::upper_bound(ticks.begin(), ticks.end(), before);
        before = step.tick;
        return asked == ticks.end() || *asked > step.tick;
      });
    };
    prune_steps(at->second.certain);
    prune_steps(at->second.possible);
    prune_steps(at->second.documented);
    // From the last to the first: does a later one of the site replace it for everybody who knows it?
    std::vector<Direct>& direct = at->second.direct;
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
    const bool empty = direct.empty() && at->second.certain.empty() && at->second.possible.empty();
    at = empty ? streams_.erase(at) : std::next(at);
  }
}

size_t CoverLog::size() const {
  size_t size = 0;
  for (const auto& [stream, one] : streams_)
    size += one.direct.size() + one.certain.size() + one.possible.size();
  return size;
}

InstanceIndex CoverLog::first_certain(StreamNumber stream, uint32_t tick) const {
  const OfStream* found = find(stream);
  return found ? first(found->certain, tick) : InstanceIndex{};
}

InstanceIndex CoverLog::first_possible(StreamNumber stream, uint32_t tick) const {
  const OfStream* found = find(stream);
  return found ? first(found->possible, tick) : InstanceIndex{};
}

InstanceIndex CoverLog::first_documented(StreamNumber stream, uint32_t tick) const {
  const OfStream* found = find(stream);
  return found ? first(found->documented, tick) : InstanceIndex{};
}

}  // namespace diogenes::necessity
