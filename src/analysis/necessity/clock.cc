#include "analysis/necessity/clock.h"

namespace diogenes::necessity {

const Knowledge SharedKnowledge::kNothing;

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
  auto at = components_.begin() + (find(key) - components_.cbegin());
  if (at == components_.end() || at->key != key) {
    components_.insert(at, Component{key, value});
  } else {
    at->value = std::max(at->value, value);
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
  std::vector<Component> joined;
  joined.reserve(components_.size() + missing);
  auto one = components_.cbegin();
  auto two = other.components_.cbegin();
  while (one != components_.cend() || two != other.components_.cend()) {
    if (two == other.components_.cend() || (one != components_.cend() && one->key < two->key)) {
      joined.push_back(*one++);
    } else if (one == components_.cend() || two->key < one->key) {
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
  std::erase_if(components_, [](const Component& component) { return component.value == 0; });
}

bool SharedKnowledge::learn(const SharedKnowledge& other) {
  if (!other.known_ || known_ == other.known_) return false;
  if (!known_ || (known_.use_count() > 1 && other->includes(*known_))) {
    known_ = other.known_;
    return true;
  }
  if (known_->includes(*other)) return false;
  edit().join(*other);
  return true;
}

}  // namespace diogenes::necessity
