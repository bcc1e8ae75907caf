#include "analysis/necessity/judge/constraints.h"

#include <algorithm>

namespace diogenes::necessity {
namespace {

constexpr size_t kMostOpen = 65'536;  // sets that wait for the end; then they are decided as they are

}  // namespace

InstanceIndex Constraints::add_instance(const Event& covers) {
  const InstanceIndex index{static_cast<uint32_t>(instances_.size())};
  Instance& instance = instances_.emplace_back();
  instance.operation = covers.operation;
  instance.site = covers.site;
  instance.thread = static_cast<uint16_t>(covers.thread.value);
  instance.changeable = covers.wait.changeable;
  instance.implicit = covers.wait.implicit;
  instance.documented = covers.wait.documented;
  instance.own_work = covers.wait.own_work;
  if (instance.own_work) instance.reasons = kOwnWork;
  return index;
}

void Constraints::require(InstanceIndex index, const Use& use) {
  Instance& instance = instances_[index.value];
  instance.reasons |= use.reason;
  if (instance.site.valid() && !use.at_edge) {
    if (instance.site.value >= required_sites_.size()) required_sites_.resize(instance.site.value + 1);
    required_sites_[instance.site.value] = true;
  }
  if (instance.thread != use.thread.value) {
    if (use.handed_on)
      instance.handed_on = true;
    else
      instance.reasons |= kOtherThread;
    return;
  }
  if (use.at_ns < 0 || instance.end_ns < 0) return;
  const int64_t after_ns = std::max<int64_t>(0, use.at_ns - instance.end_ns);
  if (instance.first_use == 0xffffffff) {
    instance.first_use = static_cast<uint32_t>(first_uses_.size());
    first_uses_.push_back({after_ns, use.address, use.stack, use.released_ns <= instance.end_ns});
  } else if (FirstUse& first = first_uses_[instance.first_use]; after_ns < first.after_ns) {
    first = {after_ns, use.address, use.stack, use.released_ns <= instance.end_ns};
  }
}

bool Constraints::require_one_of(std::span<const InstanceIndex> candidates, const Use& use) {
  const InstanceIndex first = best(candidates, use);
  const Instance& instance = instances_[first.value];
  if (candidates.size() == 1 || !instance.changeable || site_required(instance.site)) {
    require(first, use);
    return true;
  }
  if (open_.size() == kMostOpen) choose();
  open_.push_back({{candidates.begin(), candidates.end()}, use});
  return false;
}

bool Constraints::better(InstanceIndex one_index, InstanceIndex other_index, const Use& use) const {
  const Instance& one = instances_[one_index.value];
  const Instance& other = instances_[other_index.value];
  // An undocumented wait replaces no documented one.
  if (one.documented != other.documented) return one.documented;
  if (one.changeable != other.changeable) return !one.changeable;
  if (site_required(one.site) != site_required(other.site)) return site_required(one.site);
  if (one.implicit != other.implicit) return !one.implicit;
  const bool one_here = one.thread == use.thread.value, other_here = other.thread == use.thread.value;
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

void Constraints::prefer(const std::vector<bool>& sites) {
  if (sites.size() > required_sites_.size()) required_sites_.resize(sites.size());
  for (size_t i = 0; i < sites.size(); ++i) required_sites_[i] = required_sites_[i] || sites[i];
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

Verdict Constraints::verdict(InstanceIndex index) const {
  const Instance& instance = instances_[index.value];
  Verdict verdict{instance.operation, instance.reasons, instance.conditions};
  if (instance.own_work) verdict.reasons = kOwnWork;
  // The wait can move to a use of its own thread's that comes before the hand-over, and no further.
  if (instance.handed_on &&
      (instance.first_use == 0xffffffff || !first_uses_[instance.first_use].before_hand_over))
    verdict.reasons |= kOtherThread;
  if (instance.first_use != 0xffffffff) {
    const FirstUse& first = first_uses_[instance.first_use];
    verdict.after_ns = first.after_ns;
    verdict.use_stack = first.stack;
    verdict.address = first.address;
  }
  return verdict;
}

}  // namespace diogenes::necessity
