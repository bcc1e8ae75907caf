#include "analysis/necessity/judge/narrow_waits.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/order/cover_walk.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kMostRounds = 16, kPairsAtOnce = 64;

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

// Of some of the broken pairs, the last wait that covered the work before its use has to be as wide as it was, and with it all of
// its place. False: there is none.
bool widen_last(const Replay& replay, const BothOrders& orders, std::vector<StreamNumber>& narrow) {
  std::vector<Broken> pairs(
      orders.broken().begin(),
      orders.broken().begin() + static_cast<ptrdiff_t>(std::min(orders.broken().size(), kPairsAtOnce)));
  std::vector<SiteIndex> sites(narrow.size()), last(pairs.size());
  CoverWalk walk(orders.letting_go(),
                 [&](size_t event, size_t instance, const Event& covers, const Clock& covered) {
                   if (instance >= narrow.size() || !narrow[instance].valid()) return;
                   sites[instance] = covers.site;
                   for (size_t i = 0; i < pairs.size(); ++i)
                     if (event <= pairs[i].use && covered.covers(pairs[i].stream, pairs[i].tick))
                       last[i] = covers.site;
                 });
  replay(walk);
  bool any = false;
  for (size_t i = 0; i < narrow.size(); ++i) {
    if (!narrow[i].valid() || std::find(last.begin(), last.end(), sites[i]) == last.end()) continue;
    narrow[i] = {};
    any = true;
  }
  return any;
}

}  // namespace

std::vector<StreamNumber> narrow_waits(const Replay& replay, const std::vector<bool>& needed) {
  Candidates candidates(needed);
  replay(candidates);
  if (!candidates.any()) return {};
  std::vector<StreamNumber> narrow = candidates.take_narrow();
  for (size_t round = 0; round < kMostRounds; ++round) {
    std::vector<bool> whole = needed;
    for (size_t i = 0; i < narrow.size(); ++i)
      if (narrow[i].valid()) whole[i] = false;
    BothOrders orders(whole, 1024, &narrow);
    replay(orders);
    orders.finish();
    if (orders.unchecked() > 0) return {};
    if (orders.broken().empty()) return narrow;
    if (!widen_last(replay, orders, narrow)) return {};
  }
  return {};
}

}  // namespace diogenes::necessity
