// Things that belong to pieces of work, until somebody knows that the work is done.
// In: each with its work, in the order of its stream. Out: those that a clock covers.
#pragma once
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

template <typename Value>
class UntilDone {
 public:
  void add(StreamNumber stream, uint32_t tick, Value value) {
    auto at = std::find_if(streams_.begin(), streams_.end(),
                           [&](const OfStream& one) { return one.stream == stream; });
    if (at == streams_.end()) at = streams_.insert(at, {stream, {}});
    at->waiting.emplace_back(tick, std::move(value));
  }
  bool empty() const { return streams_.empty(); }
  // Is the work of any of them done?
  bool any_done(const Clock& known) const {
    return std::any_of(streams_.begin(), streams_.end(), [&](const OfStream& one) {
      return known.covers(one.stream, one.waiting.front().first);
    });
  }
  // Null: it is not there.
  Value* find(StreamNumber stream, uint32_t tick) {
    for (OfStream& one : streams_) {
      if (one.stream != stream) continue;
      auto at = std::lower_bound(one.waiting.begin(), one.waiting.end(), tick,
                                 [](const auto& waiting, uint32_t wanted) { return waiting.first < wanted; });
      return at != one.waiting.end() && at->first == tick ? &at->second : nullptr;
    }
    return nullptr;
  }
  template <typename Visit>  // visit(const Value&) for those whose work is done
  void each_done(const Clock& known, Visit visit) const {
    for (const OfStream& one : streams_) {
      const uint32_t until = known[key_of(one.stream)];
      for (auto at = one.waiting.begin(); at != one.waiting.end() && at->first <= until; ++at)
        visit(at->second);
    }
  }
  // Forgets those whose work is done. visit(StreamNumber, tick, Value&) before that.
  template <typename Visit>
  void done(const Clock& known, Visit visit) {
    std::erase_if(streams_, [&](OfStream& one) {
      const uint32_t until = known[key_of(one.stream)];
      while (!one.waiting.empty() && one.waiting.front().first <= until) {
        visit(one.stream, one.waiting.front().first, one.waiting.front().second);
        one.waiting.pop_front();
      }
      return one.waiting.empty();
    });
  }
  template <typename Visit>  // visit(StreamNumber, tick, const Value&)
  void each(Visit visit) const {
    for (const OfStream& one : streams_)
      for (const auto& [tick, value] : one.waiting) visit(one.stream, tick, value);
  }

 private:
  struct OfStream {
    StreamNumber stream;
    std::deque<std::pair<uint32_t, Value>> waiting;
  };
  std::vector<OfStream> streams_;
};

}  // namespace diogenes::necessity
