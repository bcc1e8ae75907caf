#include "analysis/necessity/judge/narrow_waits.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/order/cover_walk.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kMostRounds = 16, kPairsAtOnce = 64;
constexpr size_t kMostWriters = 16;  // of one memory

// Explicit waits for several streams, one of which got the thread's last work; copies to the host behind several streams, one of
// which wrote what is brought.
class Candidates : public EventSink {
 public:
  Candidates(const std::vector<bool>& needed, const std::vector<bool>& order)
      : needed_(needed), order_(order) {
    narrow_.streams.resize(needed.size());
    narrow_.orders.resize(needed.size());
  }

  void take(const Event& event) override {
    if (!well_formed(event)) return;
    ++event_;
    switch (event.kind) {
      case EventKind::call_begin:
        threads_[event.thread.value].call = event.operation;
        threads_[event.thread.value].copy = {};
        break;
      case EventKind::work:
        work(event, threads_[event.thread.value]);
        break;
      case EventKind::covers:
        covers(event);
        break;
      default:
        break;
    }
  }

  // A copy that goes to another stream is behind what other threads give, and before it, in another way than it was: that is not
  // looked at.
  // Work that waits for the CPU (Event::gate) is let go by any thread. The judge asks what each of them knew by then; the check asks
  // what all of them knew together, which is too little to rest advice on. So with such work there are no candidates.
  Narrow take_narrow() {
    if (gated_) return {};
    if (giving_ > 1) {
      for (const NarrowCopy& copy : narrow_.copies) narrow_.streams[copy.instance] = {};
      narrow_.copies.clear();
    }
    return std::move(narrow_);
  }

 private:
  struct Writer {
    AddressRange range;
    StreamNumber stream;
    OperationId call;
  };
  struct OfThread {
    OperationId call;
    StreamNumber last;  // stream that got its last work
    NarrowCopy copy;    // of its call
    StreamNumber to;    // that it could be given to
  };

  void work(const Event& event, OfThread& thread) {
    giving_ += !thread.last.valid();
    gated_ |= event.gate;
    thread.last = event.stream;
    for (const Access& access : event.accesses) {
      if (access.writes || access.on_host || !access.memory.valid()) continue;
      const auto& writers = writers_[access.memory.value];
      const auto writer = std::find_if(writers.begin(), writers.end(),
                                       [&](const Writer& one) { return one.range.overlaps(access.range); });
      if (writer == writers.end() || !brings(event)) continue;
      const StreamNumber to = writer->stream;
      if (std::find(event.streams.begin(), event.streams.end(), to) == event.streams.end()) continue;
      thread.copy = {event_, 0, writer->call};
      thread.to = to;
    }
    for (const Access& access : event.accesses) {
      if (!access.writes || access.on_host) continue;
      if (access.memory.valid())
        wrote(writers_[access.memory.value], {access.range, event.stream, thread.call});
      else
        writers_.clear();
    }
  }

  static void wrote(std::vector<Writer>& writers, const Writer& writer) {
    std::erase_if(writers, [&](const Writer& one) { return writer.range.contains(one.range); });
    if (writers.size() == kMostWriters) writers.pop_back();
    writers.insert(writers.begin(), writer);
  }

  static bool brings(const Event& event) {
    return event.accesses.size() == 2 && event.streams.size() > 1 &&
           std::any_of(event.accesses.begin(), event.accesses.end(),
                       [](const Access& access) { return access.writes && access.on_host; });
  }

  void covers(const Event& event) {
    const size_t instance = instance_++;
    const auto thread = threads_.find(event.thread.value);
    if (thread == threads_.end() || instance >= needed_.size() || !needed_[instance] || event.wait.own_work)
      return;
    if (thread->second.copy.event != 0) {
      if (!event.covers_own_work) return;
      thread->second.copy.instance = instance;
      narrow_.streams[instance] = thread->second.to;
      narrow_.copies.push_back(thread->second.copy);
      thread->second.copy = {};
      return;
    }
    const StreamNumber last = thread->second.last;
    if (!event.wait.implicit && order_[instance]) {
      narrow_.orders[instance] = true;
      return;
    }
    if (event.wait.implicit || event.mark.valid() || event.streams.size() < 2 || !last.valid()) return;
    if (std::find(event.streams.begin(), event.streams.end(), last) != event.streams.end())
      narrow_.streams[instance] = last;
  }

  const std::vector<bool>&needed_, &order_;
  Narrow narrow_;
  std::unordered_map<uint32_t, OfThread> threads_;
  std::unordered_map<uint32_t, std::vector<Writer>> writers_;  // by memory, the last one first
  size_t event_ = 0, instance_ = 0, giving_ = 0;
  bool gated_ = false;
};

bool is_less(const Narrow& narrow, size_t instance) {
  return narrow.streams[instance].valid() || narrow.orders[instance];
}

// Of some of the broken pairs, the last wait that covered the work before its use has to be as wide as it was, and with it all of
// its place. False: there is none.
bool widen_last(const Replay& replay, const BothOrders& orders, Narrow& narrow) {
  std::vector<Broken> pairs(
      orders.broken().begin(),
      orders.broken().begin() + static_cast<ptrdiff_t>(std::min(orders.broken().size(), kPairsAtOnce)));
  std::vector<SiteIndex> sites(narrow.streams.size()), last(pairs.size());
  CoverWalk walk(orders.letting_go(),
                 [&](size_t event, size_t instance, const Event& covers, const Clock& covered) {
                   if (instance >= sites.size() || !is_less(narrow, instance)) return;
                   sites[instance] = covers.site;
                   for (size_t i = 0; i < pairs.size(); ++i)
                     if (event <= pairs[i].use && covered.covers(pairs[i].stream, pairs[i].tick))
                       last[i] = covers.site;
                 });
  replay(walk);
  bool any = false;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!is_less(narrow, i) || std::find(last.begin(), last.end(), sites[i]) == last.end()) continue;
    narrow.streams[i] = {};
    narrow.orders[i] = false;
    any = true;
  }
  return any;
}

}  // namespace

Narrow narrow_waits(const Replay& replay, const std::vector<bool>& needed, const std::vector<bool>& order) {
  Candidates candidates(needed, order);
  replay(candidates);
  Narrow narrow = candidates.take_narrow();
  if (narrow.streams.empty()) return {};
  for (size_t round = 0; round < kMostRounds; ++round) {
    std::vector<bool> whole = needed;
    for (size_t i = 0; i < whole.size(); ++i)
      if (is_less(narrow, i)) whole[i] = false;
    if (whole == needed) return {};
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
