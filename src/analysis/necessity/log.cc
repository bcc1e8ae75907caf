#include "analysis/necessity/log.h"

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

void CoverLog::add(InstanceIndex instance, SiteIndex site, uint32_t position, const Knowledge& covered) {
  for (const Clock::Component& component : covered.solid.components()) {
    if (!is_stream(component.key)) continue;
    auto& direct = streams_[StreamNumber{number_of(component.key)}].direct;
    direct.push_back({position, component.value, instance, site});
  }
  for (const Clock::Component& component : covered.certain.components()) {
    climb(streams_[StreamNumber{number_of(component.key)}].certain, component.value, instance);
  }
  for (const Clock::Component& component : covered.possible.components()) {
    climb(streams_[StreamNumber{number_of(component.key)}].possible, component.value, instance);
  }
}

void CoverLog::candidates(StreamNumber stream, uint32_t tick, uint32_t position,
                          std::vector<InstanceIndex>& into) const {
  const OfStream* found = find(stream);
  if (!found) return;
  std::vector<SiteIndex> seen;
  for (size_t i = found->direct.size(); i-- > 0;) {
    const Direct& direct = found->direct[i];
    if (direct.position > position || direct.tick < tick) continue;
    if (std::find(seen.begin(), seen.end(), direct.site) != seen.end()) continue;
    seen.push_back(direct.site);
    into.push_back(direct.instance);
  }
}

InstanceIndex CoverLog::first_certain(StreamNumber stream, uint32_t tick) const {
  const OfStream* found = find(stream);
  return found ? first(found->certain, tick) : InstanceIndex{};
}

InstanceIndex CoverLog::first_possible(StreamNumber stream, uint32_t tick) const {
  const OfStream* found = find(stream);
  return found ? first(found->possible, tick) : InstanceIndex{};
}

}  // namespace diogenes::necessity
