#include "analysis/runs/peer_accesses.h"

#include <algorithm>

namespace diogenes {

void PeerAccesses::add(const ProcessFile& by, const PeerAccessRecord& record) {
  by_process_[{by.host, record.process}].push_back(
      {std::clamp<int64_t>(record.at_ns, 0, kLatestTime), range_of(record.begin, record.bytes),
       record.access != Touching::reads, record.process == PeerAccessRecord::kEveryProcess});
}

void PeerAccesses::sort() {
  for (auto& [process, accesses] : by_process_) {
    const auto files = by_process_.find({process.first, PeerAccessRecord::kEveryProcess});
    if (files != by_process_.end() && process.second != PeerAccessRecord::kEveryProcess)
      accesses.insert(accesses.end(), files->second.begin(), files->second.end());
    std::stable_sort(accesses.begin(), accesses.end(),
                     [](const PeerAccess& one, const PeerAccess& other) { return one.at_ns < other.at_ns; });
  }
}

std::span<const PeerAccess> PeerAccesses::to(const ProcessFile& process) const {
  auto found = by_process_.find({process.host, process.pid});
  if (found == by_process_.end()) found = by_process_.find({process.host, PeerAccessRecord::kEveryProcess});
  if (found == by_process_.end()) return {};
  return found->second;
}

}  // namespace diogenes
