// The end of a window: the program went on, and may have used all that was there.
#include "analysis/necessity/judge/judge.h"

namespace diogenes::necessity {
namespace {

// Not one of the window's: whoever learned from a stream, an event or a lock behind it.
constexpr ThreadNumber kSomebody{0xfffe};

}  // namespace

// Work stays before whatever it was before when the window ended: a thread, and all that a thread can learn from later. So what
// comes behind the window finds the order that it found.
void Judge::unknown_behind() {
  std::vector<std::pair<StreamNumber, uint32_t>> works;
  frontier_.each(
      [&](AccessIndex index) { works.emplace_back(frontier_[index].stream, frontier_[index].tick); });
  views_.each_mark([&](const MarkState& mark) {
    if (const auto last = mark.last(); last.first.valid() && last.second > 0) works.push_back(last);
  });
  std::sort(works.begin(), works.end());
  works.erase(std::unique(works.begin(), works.end()), works.end());
  std::vector<InstanceIndex> candidates;
  views_.each_source([&](ThreadNumber thread, const Knowledge& known) {
    const ThreadNumber user = thread.valid() ? thread : kSomebody;
    Use use{kUnresolved, user};
    use.at_edge = true;
    for (const auto& [stream, tick] : works) {
      if (known.solid.covers(stream, tick) || !known.possible.covers(stream, tick)) continue;
      candidates.clear();
      if (known.certain.covers(stream, tick)) log_.candidates(stream, tick, known.solid, user, candidates);
      if (candidates.empty()) {
        keep_order(stream, tick, known, use);
      } else {
        constraints_.require_one_of(candidates, use);
      }
    }
  });
}

}  // namespace diogenes::necessity
