#include "analysis/necessity/testing/cut_traces.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/testing/exhaustive_oracle.h"

namespace diogenes::necessity::testing {
namespace {

// One trace, whole.
class Whole {
 public:
  Whole(const Timeline& timeline, size_t forgets_after)
      : timeline_(timeline), forgets_after_(forgets_after), oracle_(timeline.events()) {
    Judge judge(forgets_after);
    timeline.replay(judge);
    judge.finish();
    needed_ = judge.needed();
  }
  const std::vector<bool>& needed() const { return needed_; }
  JudgedWindows judge(std::span<const WindowSpan> spans, const WindowRules& rules) const {
    JudgedWindows judged =
        judge_windows([this](EventSink& sink) { timeline_.replay(sink); }, spans, rules, forgets_after_);
    judged.needless.resize(needed_.size());
    return judged;
  }
  // "" or what is not sound without these.
  std::string broken_without(const std::vector<bool>& removed) {
    if (!tried_.insert(removed).second) return {};
    const std::string broken = oracle_.broken_without(removed);
    std::vector<bool> needed = removed;
    needed.flip();
    const Replay replay = [this](EventSink& sink) { timeline_.replay(sink); };
    if (broken.empty() && withdraw_unsound(replay, needed, forgets_after_).withdrawn == 0) return {};
    std::string text = broken.empty() ? "the check withdraws some" : broken;
    text += "; without";
    for (size_t i = 0; i < removed.size(); ++i)
      if (removed[i]) text += " " + std::to_string(oracle_.synchronizations()[i]);
    return text;
  }

 private:
  const Timeline& timeline_;
  const size_t forgets_after_;
  const Oracle oracle_;
  std::vector<bool> needed_;
  std::set<std::vector<bool>> tried_;
};

std::vector<WindowSpan> random_spans(std::mt19937_64& random, size_t windows, size_t events) {
  std::vector<int64_t> edges(2 * windows);
  for (int64_t& edge : edges) edge = 1 + static_cast<int64_t>(random() % (events + 1));
  std::sort(edges.begin(), edges.end());
  std::vector<WindowSpan> spans;
  for (size_t i = 0; i < edges.size(); i += 2) spans.push_back({edges[i], edges[i + 1]});
  return spans;
}

void note_broken(const std::string& broken, uint64_t seed, std::span<const WindowSpan> spans,
                 const Timeline& timeline, CutCounts& counts) {
  if (broken.empty() || counts.broken++ > 0) return;
  counts.first_broken = "seed " + std::to_string(seed) + ": " + broken + "\nwindows of events:";
  for (const WindowSpan& span : spans)
    counts.first_broken +=
        " [" + std::to_string(span.begin_ns - 1) + ", " + std::to_string(span.end_ns - 1) + ")";
  counts.first_broken += '\n' + timeline.text();
}

uint64_t count(const std::vector<bool>& all) {
  return static_cast<uint64_t>(std::count(all.begin(), all.end(), true));
}

}  // namespace

std::string CutCounts::text() const {
  const auto percent = [](uint64_t part, uint64_t all) {
    return std::to_string(all == 0 ? 0 : 100 * part / all) + "%";
  };
  return std::to_string(cuts) + " cuts of " + std::to_string(traces) + " traces: " + std::to_string(broken) +
         " unsound, " + std::to_string(withdrawn) +
         " withdrawn; of the needless waits, a cut that shows one calls " + percent(found, shown) +
         " needless (" + std::to_string(found) + " of " + std::to_string(shown) + "); some cut calls " +
         percent(found_by_any, shown_by_any) + " needless (" + std::to_string(found_by_any) + " of " +
         std::to_string(shown_by_any) + "), all together " + std::to_string(found_together);
}

void cut_trace(const Timeline& timeline, uint64_t seed, const CutOptions& options, CutCounts& counts) {
  const size_t events = timeline.events().size();
  if (events > kMostEvents) return;
  Whole whole(timeline, seed % 2 == 0 ? 0 : 1024);
  std::mt19937_64 random(seed);
  std::vector<bool> shown(whole.needed().size()), found(shown.size());
  std::vector<WindowSpan> all;
  for (size_t cut = 0; cut < options.cuts; ++cut) {
    const std::vector<WindowSpan> spans = random_spans(random, options.windows, events);
    all.insert(all.end(), spans.begin(), spans.end());
    const JudgedWindows judged = whole.judge(spans, options.rules);
    note_broken(whole.broken_without(judged.needless), seed, spans, timeline, counts);
    counts.withdrawn += judged.withdrawn;
    for (const JudgedWindow& window : judged.windows)
      for (size_t i = 0; i < window.instances.size(); ++i) {
        const size_t instance = window.instances[i];
        if (whole.needed()[instance]) continue;
        ++counts.shown;
        shown[instance] = true;
        if (window.needed[i]) continue;
        ++counts.found;
        found[instance] = true;
      }
  }
  ++counts.traces;
  counts.cuts += options.cuts;
  counts.shown_by_any += count(shown);
  counts.found_by_any += count(found);
  if (!options.together) return;
  const JudgedWindows judged = whole.judge(all, options.rules);
  note_broken(whole.broken_without(judged.needless), seed, all, timeline, counts);
  for (size_t i = 0; i < shown.size(); ++i) counts.found_together += !whole.needed()[i] && judged.needless[i];
}

std::vector<bool> needless_if_killed(const Timeline& timeline, WindowSpan span) {
  struct Killed : EventSink {
    Judge judge;
    void take(const Event& event) override {
      if (event.kind != EventKind::window_begins) judge.take(event);
    }
  } killed;
  Census census;
  timeline.replay(census);
  WindowEvents window(census, span.begin_ns, span.end_ns, killed);
  timeline.replay(window);
  killed.judge.finish();
  std::vector<bool> needless(Oracle(timeline.events()).synchronizations().size());
  for (size_t i = 0; i < killed.judge.size(); ++i)
    needless[window.instances()[i]] = killed.judge.verdict(i).reasons == 0;
  return needless;
}

Timeline with_senders(const Timeline& timeline) {
  std::map<uint32_t, std::set<uint32_t>> senders;  // by object
  for (const Event& event : timeline.events())
    if (event.kind == EventKind::release) senders[event.object.value].insert(event.thread.value);
  Timeline changed;
  for (Event event : timeline.events()) {
    if (event.kind == EventKind::acquire) {
      event.one_sender = true;
      event.forced = senders[event.object.value].size() == 1;
    }
    changed.add(event);
  }
  return changed;
}

Timeline looped(const Timeline& body, uint32_t iterations) {
  Timeline looped;
  std::map<uint32_t, uint32_t> releases;  // of one iteration, by object
  uint32_t watches = 0;
  for (const Event& event : body.events()) {
    if (event.kind == EventKind::release) ++releases[event.object.value];
    if (event.watch.valid()) watches = std::max(watches, event.watch.value + 1);
  }
  for (uint32_t iteration = 0; iteration < iterations; ++iteration)
    for (Event event : body.events()) {
      if (event.kind == EventKind::ends && iteration + 1 < iterations) continue;
      if (event.watch.valid()) event.watch.value += iteration * watches;
      if (event.object.valid() && event.sequence != UINT32_MAX)
        event.sequence += iteration * releases[event.object.value];
      looped.add(event);
    }
  return looped;
}

}  // namespace diogenes::necessity::testing
