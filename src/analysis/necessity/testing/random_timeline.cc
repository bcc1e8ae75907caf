#include "analysis/necessity/testing/random_timeline.h"

#include <random>

namespace diogenes::necessity::testing {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, size_t steps) : random_(seed), steps_(steps) {}

  Timeline run() {
    threads_ = 1 + below(3);
    streams_ = 1 + below(3);
    with_gates_ = below(3) == 0;
    with_watches_ = below(4) != 0;
    timed_ = below(2) == 0;
    for (size_t i = 0; i < steps_; ++i) step();
    for (uint32_t thread = 0; thread < 3; ++thread) {
      if (in_call_[thread]) timeline_.end(ThreadNumber{thread});
    }
    if (below(4) != 0) timeline_.ends();
    return std::move(timeline_);
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  ThreadNumber thread() { return ThreadNumber{below(threads_)}; }
  StreamNumber stream() { return StreamNumber{below(streams_)}; }
  MemoryNumber memory() { return MemoryNumber{below(3)}; }
  AddressRange range() {
    switch (below(4)) {
      case 0:
        return {0, 4};
      case 1:
        return {4, 8};
      default:
        return {0, 8};
    }
  }
  // Memory 2 is host memory.
  Access access() {
    const MemoryNumber where = memory();
    if (below(40) == 0) return {{}, {}, below(2) == 0, false, below(2) == 0};
    return {where, range(), below(2) == 0, false, where.value == 2};
  }
  std::vector<Access> accesses() {
    std::vector<Access> all;
    for (uint32_t count = 1 + below(2); count > 0; --count) all.push_back(access());
    return all;
  }

  void synchronize(ThreadNumber who) {
    const uint32_t site = below(5);
    Event covers;
    covers.kind = EventKind::covers;
    covers.thread = who;
    covers.site = SiteIndex{site};
    // What a site is, is fixed.
    covers.wait.changeable = site != 3;
    covers.wait.implicit = site >= 2;
    covers.wait.own_work = below(25) == 0;
    std::vector<StreamNumber> streams, may;
    switch (below(8)) {
      case 0:
        for (uint32_t i = 0; i < streams_; ++i) streams.push_back(StreamNumber{i});
        break;
      case 1:
        if (recorded_) {
          covers.mark = MarkNumber{below(2)};
          break;
        }
        [[fallthrough]];
      case 2:
        may.push_back(stream());
        covers.may_cover = MayCover::streams;
        break;
      case 3:
        if (below(3) == 0) covers.may_cover = MayCover::everything;
        [[fallthrough]];
      default:
        streams.push_back(stream());
    }
    covers.streams = streams;
    covers.may_streams = may;
    if (in_call_[who.value]) {
      covers.covers_own_work = below(2) == 0;
      timeline_.add(covers);
      return;
    }
    timeline_.begin(who);
    if (below(4) == 0) {
      timeline_.work(who, stream(), accesses());
      covers.covers_own_work = true;
    }
    timeline_.add(covers);
    if (with_watches_) raise();
    timeline_.end(who);
  }

  // Watches of what is not watched, mostly.
  void raise() {
    if (below(6) == 0) return;
    const AddressRange all = range();
    timeline_.watch(watches_++, MemoryNumber{2}, all, below(4) == 0);
  }

  void step() {
    const ThreadNumber who = thread();
    const bool calling = in_call_[who.value];
    switch (below(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        if (with_gates_ && below(6) == 0) {
          timeline_.gate(who, stream(), accesses());
        } else if (below(12) == 0) {
          timeline_.blind(who, stream(), kUnknownMemory);
        } else if (below(12) == 0) {
          Event work;
          work.kind = EventKind::work;
          work.thread = who;
          work.stream = stream();
          const std::vector<Access> all = accesses();
          const std::vector<StreamNumber> others{stream()};
          work.accesses = all;
          work.streams = others;
          if (!calling) timeline_.begin(who);
          timeline_.add(work);
          if (!calling) timeline_.end(who);
        } else {
          timeline_.work(who, stream(), accesses());
        }
        break;
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
        synchronize(who);
        break;
      case 10:
        if (!any_call()) {
          const MarkNumber mark{below(2)};
          timeline_.record(who, stream(), mark, below(6) == 0,
                           timed_ ? StreamNumber{3 + mark.value} : StreamNumber{});
          recorded_ = true;
        }
        break;
      case 11:
        if (recorded_) timeline_.wait(who, stream(), MarkNumber{below(2)});
        break;
      case 12:
      case 13:
        timeline_.release(who, below(2));
        break;
      case 14:
      case 15: {
        const uint32_t object = below(2);  // object 0 forces an order
        timeline_.acquire(who, object, object == 0, below(3) == 0 ? below(4) : UINT32_MAX);
        break;
      }
      case 16:
      case 17:
      case 18:
        if (watches_ > 0) {
          const uint32_t watch = watches_ - 1 - below(std::min(watches_, 4u));
          if (below(8) == 0) {
            timeline_.unwatch(watch, below(2) == 0);
          } else {
            timeline_.touch(who, watch, below(3) == 0);
          }
        }
        break;
      case 19:
        if (below(3) == 0)
          timeline_.sleep(who);
        else
          timeline_.query(who, stream(), below(2) == 0);
        break;
      case 20:
        if (below(6) == 0)
          timeline_.releases(who, memory(), below(2) == 0);
        else if (below(4) == 0)
          timeline_.unwatched(MemoryNumber{2}, kGuardRefused, range());
        else if (recorded_ && (timed_ || below(4) == 0))
          timeline_.uses_mark(who, MarkNumber{below(2)});
        break;
      case 21:  // a call that others run beside
        if (below(2) == 0) break;
        if (calling) {
          timeline_.end(who);
        } else {
          timeline_.begin(who);
        }
        in_call_[who.value] = !calling;
        break;
    }
  }
  bool any_call() const { return in_call_[0] || in_call_[1] || in_call_[2]; }

  std::mt19937_64 random_;
  size_t steps_;
  Timeline timeline_;
  uint32_t threads_ = 2, streams_ = 2, watches_ = 0;
  bool with_gates_ = false, with_watches_ = true, recorded_ = false, timed_ = false;
  bool in_call_[3] = {};
};

}  // namespace

Timeline random_timeline(uint64_t seed, size_t steps) { return Generator(seed, steps).run(); }

}  // namespace diogenes::necessity::testing
