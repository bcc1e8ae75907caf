#include "analysis/necessity/windows/judge_windows.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "analysis/necessity/judge/judge.h"

namespace diogenes::necessity {
namespace {

// One window, with its judge.
class Open {
 public:
  Open(const Replay& replay, const Census& census, WindowSpan span, const WindowRules& rules,
       size_t forgets_after)
      : replay_(replay), census_(census), span_(span), rules_(rules) {
    judge_ = std::make_unique<Judge>(forgets_after);
    instances_ = events(*judge_);
    if (!judge_->polling().empty()) {  // judged once more, as judge_process.cc does
      polling_ = judge_->polling();
      judge_ = std::make_unique<Judge>(forgets_after);
      events(*judge_);
    }
    judge_->end();
  }

  // Hands the window's events to the sink. Out: WindowEvents::instances().
  std::vector<size_t> events(EventSink& sink) const {
    GateMarker marked(polling_, sink);
    WindowEvents window(census_, span_.begin_ns, span_.end_ns, marked, rules_);
    replay_(window);
    return window.instances();
  }
  Judge& judge() { return *judge_; }
  const std::vector<size_t>& instances() const { return instances_; }

 private:
  const Replay& replay_;
  const Census& census_;
  const WindowSpan span_;
  const WindowRules& rules_;
  Works polling_;
  std::unique_ptr<Judge> judge_;
  std::vector<size_t> instances_;
};

}  // namespace

JudgedWindows judge_windows(const Replay& replay, std::span<const WindowSpan> spans, const WindowRules& rules,
                            size_t forgets_after) {
  Census census;
  replay(census);
  JudgedWindows result;
  std::deque<Open> windows;
  std::vector<bool> sites;
  for (const WindowSpan& span : spans) {
    const std::vector<bool>& required =
        windows.emplace_back(replay, census, span, rules, forgets_after).judge().required_sites();
    if (sites.size() < required.size()) sites.resize(required.size());
    for (size_t i = 0; i < required.size(); ++i) sites[i] = sites[i] || required[i];
  }
  std::vector<bool>& needless = result.needless;
  for (Open& window : windows) {
    window.judge().choose(sites);
    result.windows.push_back({window.instances(), window.judge().needed()});
    const JudgedWindow& judged = result.windows.back();
    for (size_t i = 0; i < judged.instances.size(); ++i) {
      if (needless.size() <= judged.instances[i]) needless.resize(judged.instances[i] + 1);
      if (!judged.needed[i]) needless[judged.instances[i]] = true;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Open& window : windows) {
      std::vector<bool> needed;
      for (size_t instance : window.instances()) needed.push_back(!needless[instance]);
      const size_t withdrawn =
          withdraw_unsound([&](EventSink& sink) { window.events(sink); }, needed, forgets_after).withdrawn;
      if (withdrawn == 0) continue;
      changed = true;
      result.withdrawn += withdrawn;
      for (size_t i = 0; i < needed.size(); ++i)
        if (needed[i]) needless[window.instances()[i]] = false;
    }
  }
  for (JudgedWindow& window : result.windows)
    for (size_t i = 0; i < window.instances.size(); ++i)
      window.needed[i] = window.needed[i] || !needless[window.instances[i]];
  return result;
}

}  // namespace diogenes::necessity
