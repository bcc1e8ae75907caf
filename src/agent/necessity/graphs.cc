#include "agent/necessity/graphs.h"

#include "trace/format.h"

namespace diogenes::agent {

void GraphEffects::clear() {
  kernels = anything = false;
  reasons = 0;
  words = copies = 0;
}

void GraphEffects::unknown() {
  anything = true;
  reasons |= kUndecoded;
}

void GraphEffects::add_word(uint64_t address) {
  for (int i = 0; i < words; ++i)
    if (word[i] == address) return;
  if (words == kWords)
    unknown();
  else
    word[words++] = address;
}

void GraphEffects::add_copy(const GraphCopy& added) {
  for (int i = 0; i < copies; ++i)
    if (copy[i].destination == added.destination && copy[i].source == added.source &&
        copy[i].to_host == added.to_host && copy[i].from_host == added.from_host)
      return;
  if (copies == kCopies)
    unknown();
  else
    copy[copies++] = added;
}

GraphEffects* Graphs::find(uint64_t executable) {
  uint16_t* index = by_executable_.find(executable);
  return index ? &effects_[*index] : nullptr;
}

GraphEffects* Graphs::reserve() {
  for (GraphEffects& effects : effects_) {
    if (effects.used) continue;
    effects.used = true;
    ++effects.generation;
    effects.clear();
    return &effects;
  }
  return nullptr;
}

void Graphs::give(GraphEffects* effects, uint64_t executable) {
  forget(executable);
  if (executable == 0 || !by_executable_.insert(executable, static_cast<uint16_t>(effects - effects_)))
    drop(effects);
}

void Graphs::forget(uint64_t executable) {
  GraphEffects* effects = find(executable);
  if (!effects) return;
  by_executable_.erase(executable);
  drop(effects);
}

void Graphs::reset() {
  by_executable_.clear();
  for (GraphEffects& effects : effects_) effects.used = false;
}

}  // namespace diogenes::agent
