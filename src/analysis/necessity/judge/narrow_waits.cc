#include "analysis/necessity/judge/narrow_waits.h"

#include <algorithm>
#include <unordered_map>

namespace diogenes::necessity {
namespace {

// Explicit waits for several streams, one of which got the thread's last work.
class Candidates : public EventSink {
 public:
  explicit Candidates(const std::vector<bool>& needed) : needed_(needed), narrow_(needed.size()) {}

  void take(const Event& event) override {
    if (event.kind == EventKind::work && event.stream.valid()) last_[event.thread.value] = event.stream;
    if (event.kind != EventKind::covers) return;
    const size_t instance = instance_++;
    if (instance >= needed_.size() || !needed_[instance] || event.wait.implicit || event.wait.own_work)
      return;
    const auto last = last_.find(event.thread.value);
    if (event.mark.valid() || event.streams.size() < 2 || last == last_.end()) return;
    if (std::find(event.streams.begin(), event.streams.end(), last->second) == event.streams.end()) return;
    narrow_[instance] = last->second;
    any_ = true;
  }

  bool any() const { return any_; }
  std::vector<StreamNumber> take_narrow() { return std::move(narrow_); }

 private:
  const std::vector<bool>& needed_;
  std::vector<StreamNumber> narrow_;
  std::unordered_map<uint32_t, StreamNumber> last_;  // by thread
  size_t instance_ = 0;
  bool any_ = false;
};

}  // namespace

std::vector<StreamNumber> narrow_waits(const Replay& replay, const std::vector<bool>& needed) {
  Candidates candidates(needed);
  replay(candidates);
  if (!candidates.any()) return {};
  std::vector<StreamNumber> narrow = candidates.take_narrow();
  std::vector<bool> whole = needed;
  for (size_t i = 0; i < narrow.size(); ++i)
    if (narrow[i].valid()) whole[i] = false;
  const CheckResult checked = withdraw_unsound(replay, whole, 1024, &narrow);
  for (size_t i = 0; i < narrow.size(); ++i)
    if (whole[i] || checked.unchecked > 0) narrow[i] = {};
  return narrow;
}

}  // namespace diogenes::necessity
