#include "analysis/runs/first_uses.h"

#include <algorithm>
#include <queue>

#include "analysis/runs/near_search.h"
#include "analysis/runs/recording_cost.h"

namespace diogenes {
namespace {

constexpr Nanoseconds kLongestTouch{50'000};  // the signal, its stack, opening the pages, going back

bool has_first_use(const Evidence& evidence) {
  return evidence.judged && is_movable(evidence.reasons) && evidence.after_ns >= 0;
}

// Follows one thread's records. The time between two calls begins where the recording of one ends, and ends
// where that of the next begins.
class Placer {
 public:
  explicit Placer(Thread& thread) : thread_(thread) {}

  void operator()(const OperationRecord&, uint32_t sequence) {
    if (current_.known()) finish_call();
    current_ = {sequence, {}, {}};
  }
  void operator()(const CallRecord& record, uint32_t sequence) {
    if (sequence != current_.operation) return;
    current_.before = {record.before_ns};
    current_.after = {record.after_ns};
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

  void finish() {
    if (current_.known()) finish_call();
    for (; !open_.empty(); open_.pop())
      add(open_.top(), previous_, open_.top().at - end_of(previous_), Nanoseconds{-1});
    auto& places = thread_.first_uses;
    std::sort(places.begin(), places.end(), [](const FirstUsePlace& one, const FirstUsePlace& other) {
      return one.instance < other.instance;
    });
  }

 private:
  struct RecordedCall {
    uint32_t operation = UINT32_MAX;
    Nanoseconds before, after;  // what recording took on both sides
    bool known() const { return operation != UINT32_MAX; }
  };
  struct Use {
    Nanoseconds at;
    uint32_t instance;
    bool operator<(const Use& other) const { return at > other.at; }  // the earliest is on top
  };

  Nanoseconds begin_of(const RecordedCall& call) const {
    return thread_.operations[call.operation].begin - call.before;
  }
  Nanoseconds end_of(const RecordedCall& call) const {
    return thread_.operations[call.operation].end() + call.after;
  }

  void finish_call() {
    if (previous_.known()) {
      const Nanoseconds from = end_of(previous_), gap = std::max(begin_of(current_) - from, Nanoseconds{});
      // A use inside the call comes at its begin.
      for (; !open_.empty() && open_.top().at < end_of(current_); open_.pop())
        add(open_.top(), previous_, std::min(open_.top().at - from, gap), gap);
    }
    const Evidence& evidence = thread_.evidence[current_.operation];
    if (has_first_use(evidence))
      open_.push({end_of(current_) + Nanoseconds{evidence.after_ns}, current_.operation});
    previous_ = current_;
  }

  void add(const Use& use, const RecordedCall& behind, Nanoseconds into, Nanoseconds gap) {
    thread_.first_uses.push_back({use.instance, behind.operation, std::max(into, Nanoseconds{}), gap});
  }

  Thread& thread_;
  RecordedCall previous_, current_;
  std::priority_queue<Use> open_;
};

bool same_call(const Thread& theirs, uint64_t their_call, const Thread& ours, uint64_t our_call) {
  return their_call < theirs.operations.size() && our_call < ours.operations.size() &&
         theirs.operations[their_call].site == ours.operations[our_call].site;
}

}  // namespace

void place_first_uses(Process& process) {
  for (size_t i = 0; i < process.threads.size(); ++i) {
    Thread& thread = process.threads[i];
    if (std::none_of(thread.evidence.begin(), thread.evidence.end(), has_first_use)) continue;
    Placer placer(thread);
    process.trace->threads[i].visit(placer);
    placer.finish();
  }
}

const FirstUsePlace* first_use_of(const Thread& theirs, uint32_t instance, size_t& near) {
  const auto begin = theirs.first_uses.begin(), end = theirs.first_uses.end();
  const auto from = begin + static_cast<ptrdiff_t>(std::min(near, theirs.first_uses.size()));
  const auto found = partition_point_near(
      begin, from, end, [&](const FirstUsePlace& place) { return place.instance < instance; });
  near = static_cast<size_t>(found - begin);
  return found != end && found->instance == instance ? &*found : nullptr;
}

std::optional<UseInTracing> place_in_tracing(const FirstUsePlace& place, const Thread& theirs,
                                             const Process& process, const Thread& ours, uint32_t instance) {
  const uint64_t behind = uint64_t{instance} + (place.behind - place.instance);
  if (!same_call(theirs, place.behind, ours, behind)) return std::nullopt;
  const auto& operations = ours.operations;
  const Nanoseconds to_gap = operations[behind].end() - operations[instance].end();
  if (place.gap.count < 0) return UseInTracing{to_gap + place.into, {-1}};
  if (!same_call(theirs, uint64_t{place.behind} + 1, ours, behind + 1)) return std::nullopt;
  RecordingCost cost(process, ours, static_cast<uint32_t>(behind));
  const Nanoseconds recording =
      cost.of(static_cast<uint32_t>(behind)).behind + cost.of(static_cast<uint32_t>(behind) + 1).before;
  const Nanoseconds gap =
      std::max(operations[behind + 1].begin - operations[behind].end() - recording, Nanoseconds{});
  // What makes the gap longer with guards is the touch itself: a little of it (the signal, the return from
  // the call) lies before the time that was noted, the rest behind. So the time is not scaled to the gap, and
  // a use that came no later than the gap is longer may have come at once. What makes it longer than a touch
  // takes is other work on the machine.
  const Nanoseconds longer = std::min(place.gap - gap, kLongestTouch);
  const Nanoseconds into = place.into > longer ? std::min(place.into, gap) : Nanoseconds{};
  return UseInTracing{to_gap + into, gap};
}

}  // namespace diogenes
