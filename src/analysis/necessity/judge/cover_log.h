// Which synchronizations cover which work: what the candidates for a pair are found in.
// In: each synchronization with what it covers. Out: for a piece of work, in each thread the latest instance of
// each site that covers it directly, and the first instance at all that covers it, certainly or possibly.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/necessity/judge/constraints.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

class CoverLog {
 public:
  // `position`: which synchronization of its thread, from 1. `epoch`: another one where the thread has let others go on
  // since the last, and none of them has answered.
  // Out: how many entries that made.
  size_t add(ThreadNumber thread, InstanceIndex instance, SiteIndex site, uint32_t position, uint32_t epoch,
             bool documented, const Knowledge& covered);
  // Instances known to `solid` that cover it by GPU order alone: of each thread and site the latest. With a `user`, of
  // each other thread only those of the first one's epoch: in another run the user may go on from there.
  void candidates(StreamNumber stream, uint32_t tick, const Clock& solid, ThreadNumber user,
                  std::vector<InstanceIndex>& into) const;
  // In a thread, the first instances that cover it; invalid: there is none.
  struct Firsts {
    InstanceIndex certain, possible;
    InstanceIndex documented;  // of those whose waiting is documented: the first that possibly does
  };
  Firsts firsts(ThreadNumber thread, StreamNumber stream, uint32_t tick) const;
  template <typename Visit>  // of each thread in which there are any
  void each_firsts(StreamNumber stream, uint32_t tick, Visit visit) const {
    each_covering(stream, tick, [&](const OfThread& thread) { visit(thread.firsts(tick)); });
  }

  // Forgets what nobody can ask for. `live`: of each stream the ticks of work that can still be asked for,
  // `positions`: of each thread those up to which somebody knows it; sorted.
  using LiveTicks = std::unordered_map<StreamNumber, std::vector<uint32_t>>;
  // Out: by thread, whether anything is left of it.
  std::vector<bool> prune(const LiveTicks& live, const std::vector<std::vector<uint32_t>>& positions);
  size_t size() const;

 private:
  struct Direct {
    uint32_t position, epoch, tick;
    uint32_t most;  // tick of this one or an earlier one
    InstanceIndex instance;
    SiteIndex site;
  };
  struct Step {  // the first instance that covers the stream up to `tick`
    uint32_t tick;
    InstanceIndex instance;
  };
  struct FirstDirect : Step {  // by GPU order alone, and documented
    uint32_t epoch;
  };
  struct OfThread {
    ThreadNumber thread;
    std::vector<Direct> direct;                       // by position
    std::vector<Step> certain, possible, documented;  // by tick
    std::vector<FirstDirect> first_direct;

    Firsts firsts(uint32_t tick) const;
    // `epoch`: only those of it; none: all.
    void candidates(uint32_t tick, uint32_t position, std::optional<uint32_t> epoch,
                    std::vector<InstanceIndex>& into) const;
    void prune(const std::vector<uint32_t>& ticks, const std::vector<uint32_t>& positions);
    bool empty() const { return direct.empty() && certain.empty() && possible.empty(); }
  };
  struct Place {
    uint32_t most;  // no instance of the thread covers more
    std::unique_ptr<OfThread> thread;
  };
  using OfStream = std::vector<Place>;  // by `most`: whoever covers a late tick is found without the others

  template <typename Visit>
  void each_covering(StreamNumber stream, uint32_t tick, Visit visit) const {
    auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    for (auto at = found->second.rbegin(); at != found->second.rend() && at->most >= tick; ++at)
      visit(*at->thread);
  }
  static OfThread& reach(OfStream& stream, ThreadNumber thread, uint32_t tick);

  std::unordered_map<StreamNumber, OfStream> streams_;
};

}  // namespace diogenes::necessity
