#include "analysis/runs/peer_accesses.h"

#include <algorithm>

namespace diogenes {

void PeerAccesses::add(const ProcessFile& by, const PeerAccessRecord& record) {
  by_process_[{by.host, record.process}].push_back({std::clamp<int64_t>(record.at_ns, 0, kLatestTime),
                                                    range_of(record.begin, record.bytes),
                                                    record.access != Touching::reads});
}

void PeerAccesses::sort() {
  for (auto& [process, accesses] : by_process_)
    std::stable_sort(accesses.begin(), accesses.end(),
                     [](const PeerAccess& one, const PeerAccess& other) { return one.at_ns < other.at_ns; });
}

std::span<const PeerAccess> PeerAccesses::to(const ProcessFile& process) const {
  auto found = by_process_.find({process.host, process.pid});
  if (found == by_process_.end()) return {};
  return found->second;
}

}  // namespace diogenes
