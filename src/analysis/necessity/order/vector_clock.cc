#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

const Knowledge SharedKnowledge::kNothing{};

const Clock::Component* Clock::find_in_many(ClockKey key) const {
  return std::lower_bound(components_.begin(), components_.end(), key,
                          [](const Component& component, ClockKey wanted) { return component.key < wanted; });
}

bool Clock::includes(const Clock& other) const {
  auto mine = components_.begin();
  for (const Component& component : other.components_) {
    while (mine != components_.end() && mine->key < component.key) ++mine;
    if (mine == components_.end() || mine->key != component.key || mine->value < component.value)
      return false;
  }
  return true;
}

void Clock::raise(ClockKey key, uint32_t value) {
  if (value == 0) return;
  const size_t at = static_cast<size_t>(find(key) - std::as_const(components_).begin());
  if (at == components_.size() || components_.begin()[at].key != key) {
    components_.insert(at, Component{key, value});
  } else {
    components_.begin()[at].value = std::max(components_.begin()[at].value, value);
  }
}

void Clock::join(const Clock& other) {
  if (&other == this || other.components_.empty()) return;
  if (components_.empty()) {
    components_ = other.components_;
    return;
  }
  // Mostly both have the same components: then nothing moves.
  size_t missing = 0;
  auto mine = components_.begin();
  for (const Component& component : other.components_) {
    while (mine != components_.end() && mine->key < component.key) ++mine;
    if (mine != components_.end() && mine->key == component.key) {
      mine->value = std::max(mine->value, component.value);
    } else {
      ++missing;
    }
  }
  if (missing == 0) return;
  Few<Component, 4> joined;
  joined.reserve(components_.size() + missing);
  const Component *one = components_.begin(), *two = other.components_.begin();
  while (one != components_.end() || two != other.components_.end()) {
    if (two == other.components_.end() || (one != components_.end() && one->key < two->key)) {
      joined.push_back(*one++);
    } else if (one == components_.end() || two->key < one->key) {
      joined.push_back(*two++);
    } else {
      joined.push_back(*one++);  // already the larger of both
      ++two;
    }
  }
  components_ = std::move(joined);
}

void Clock::meet(const Clock& other) {
  for (Component& component : components_) component.value = std::min(component.value, other[component.key]);
  components_.erase_if([](const Component& component) { return component.value == 0; });
}

void SharedKnowledge::hold_copy() {
  auto* own = known_ ? new Knowledge(*known_) : new Knowledge;
  own->holders = 1;
  if (known_) --known_->holders;
  known_ = own;
}

bool SharedKnowledge::learn(const SharedKnowledge& other) {
  if (!other.known_ || known_ == other.known_) return false;
  if (!known_ || (known_->holders > 1 && other->includes(*known_))) {
    *this = other;
    return true;
  }
  if (known_->includes(*other)) return false;
  edit().join(*other);
  return true;
}

}  // namespace diogenes::necessity
