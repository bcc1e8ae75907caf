// Which synchronizations of one thread cover which work: what the candidates for a pair are found in.
// In: each synchronization with what it covers. Out: for a piece of work, the latest instance of each site
// that covers it directly, and the first instance at all that covers it, certainly or possibly.
#pragma once
#include <unordered_map>
#include <vector>

#include "analysis/necessity/judge/constraints.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

class CoverLog {
 public:
  // `position`: which synchronization of its thread, from 1.
  // Out: how many entries that made.
  size_t add(InstanceIndex instance, SiteIndex site, uint32_t position, bool documented,
             const Knowledge& covered);
  // Of each site, the latest instance up to `position` that covers it by GPU order alone.
  void candidates(StreamNumber stream, uint32_t tick, uint32_t position,
                  std::vector<InstanceIndex>& into) const;
  // The first instance that covers it; invalid: none.
  InstanceIndex first_certain(StreamNumber stream, uint32_t tick) const;
  InstanceIndex first_possible(StreamNumber stream, uint32_t tick) const;
  // ... of those whose waiting is documented.
  InstanceIndex first_documented(StreamNumber stream, uint32_t tick) const;

  // Forgets what nobody can ask for. `live`: of each stream the ticks of work that can still be asked for,
  // `positions`: those up to which somebody knows this thread; both sorted.
  using LiveTicks = std::unordered_map<StreamNumber, std::vector<uint32_t>>;
  void prune(const LiveTicks& live, const std::vector<uint32_t>& positions);
  size_t size() const;
  bool empty() const { return streams_.empty(); }

 private:
  struct Direct {
    uint32_t position, tick;
    uint32_t most;  // tick of this one or an earlier one
    InstanceIndex instance;
    SiteIndex site;
  };
  struct Step {  // the first instance that covers the stream up to `tick`
    uint32_t tick;
    InstanceIndex instance;
  };
  struct OfStream {
    std::vector<Direct> direct;                       // by position
    std::vector<Step> certain, possible, documented;  // by tick
  };
  static void climb(std::vector<Step>& steps, uint32_t tick, InstanceIndex instance);
  static InstanceIndex first(const std::vector<Step>& steps, uint32_t tick);
  const OfStream* find(StreamNumber stream) const;

  std::unordered_map<StreamNumber, OfStream> streams_;
};

}  // namespace diogenes::necessity
