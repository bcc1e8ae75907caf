#include "analysis/necessity/constraints.h"

#include <algorithm>

namespace diogenes::necessity {

InstanceIndex Constraints::add_instance(const Event& covers) {
  const InstanceIndex index{static_cast<uint32_t>(instances_.size())};
  instances_.push_back({covers.operation, -1, covers.site, covers.thread, covers.wait});
  if (covers.wait.own_work) instances_.back().reasons = kOwnWork;
  return index;
}

void Constraints::require(InstanceIndex index, const Use& use) {
  Instance& instance = instances_[index.value];
  instance.reasons |= use.reason;
  if (instance.site.valid()) {
    if (instance.site.value >= required_sites_.size()) required_sites_.resize(instance.site.value + 1);
    required_sites_[instance.site.value] = true;
  }
  if (instance.thread != use.thread) {
    instance.reasons |= kOtherThread;
    return;
  }
  if (use.at_ns < 0 || instance.end_ns < 0) return;
  const int64_t after_ns = std::max<int64_t>(0, use.at_ns - instance.end_ns);
  if (instance.first_use == 0xffffffff) {
    instance.first_use = static_cast<uint32_t>(first_uses_.size());
    first_uses_.push_back({after_ns, use.stack, use.address});
  } else if (FirstUse& first = first_uses_[instance.first_use]; after_ns < first.after_ns) {
    first = {after_ns, use.stack, use.address};
  }
}

bool Constraints::require_one_of(std::span<const InstanceIndex> candidates, const Use& use) {
  const InstanceIndex first = best(candidates, use);
  const Instance& instance = instances_[first.value];
  if (candidates.size() == 1 || !instance.wait.changeable || site_required(instance.site)) {
    require(first, use);
    return true;
  }
  open_.push_back({{candidates.begin(), candidates.end()}, use});
  return false;
}

bool Constraints::better(InstanceIndex one_index, InstanceIndex other_index, const Use& use) const {
  const Instance& one = instances_[one_index.value];
  const Instance& other = instances_[other_index.value];
  // An undocumented wait replaces no documented one.
  if (one.wait.documented != other.wait.documented) return one.wait.documented;
  if (one.wait.changeable != other.wait.changeable) return !one.wait.changeable;
  if (site_required(one.site) != site_required(other.site)) return site_required(one.site);
  if (one.wait.implicit != other.wait.implicit) return !one.wait.implicit;
  const bool one_here = one.thread == use.thread, other_here = other.thread == use.thread;
  if (one_here != other_here) return one_here;
  return one_index > other_index;
}

InstanceIndex Constraints::best(std::span<const InstanceIndex> candidates, const Use& use) const {
  InstanceIndex best = candidates.front();
  for (InstanceIndex candidate : candidates.subspan(1)) {
    if (better(candidate, best, use)) best = candidate;
  }
  return best;
}

void Constraints::add_condition(InstanceIndex instance, uint8_t condition) {
  instances_[instance.value].conditions |= condition;
}

void Constraints::choose() {
  // Those that a required site satisfies first: each of them may be the last one that its data needs.
  std::vector<OneOf> rest;
  for (OneOf& one : open_) {
    const InstanceIndex first = best(one.candidates, one.use);
    if (site_required(site(first))) {
      require(first, one.use);
    } else {
      rest.push_back(std::move(one));
    }
  }
  for (const OneOf& one : rest) require(best(one.candidates, one.use), one.use);
  open_.clear();
}

std::vector<Verdict> Constraints::verdicts() const {
  std::vector<Verdict> verdicts;
  verdicts.reserve(instances_.size());
  for (const Instance& instance : instances_) {
    Verdict verdict{instance.operation, instance.reasons, instance.conditions};
    if (instance.wait.own_work) verdict.reasons = kOwnWork;
    if (instance.first_use != 0xffffffff) {
      const FirstUse& first = first_uses_[instance.first_use];
      verdict.after_ns = first.after_ns;
      verdict.use_stack = first.stack;
      verdict.address = first.address;
    }
    verdicts.push_back(verdict);
  }
  return verdicts;
}

}  // namespace diogenes::necessity
