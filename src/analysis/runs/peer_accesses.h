// Memory that was read or written by its process's id, from wherever (PeerAccessRecord). In: the records of
// all processes of a stage. Out: for each process, who reached into it, and when.
#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/range.h"
#include "trace/reader.h"

namespace diogenes {

struct PeerAccess {
  int64_t at_ns = 0;
  AddressRange range;
  bool writes = false;
  bool file = false;  // /proc/PID/mem was opened: from now on anything may be read and written
};

class PeerAccesses {
 public:
  void add(const ProcessFile& by, const PeerAccessRecord& record);
  void sort();  // by time, after the last; files count for every process of their host
  std::span<const PeerAccess> to(const ProcessFile& process) const;

 private:
  std::map<std::pair<std::string, int32_t>, std::vector<PeerAccess>> by_process_;  // by host and id
};

}  // namespace diogenes
