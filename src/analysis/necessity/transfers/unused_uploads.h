// What nothing on the GPU can have read: data that was copied to the device and overwritten or released
// first, and device memory that was released without any access.
//
// In: each piece of work with what it is ordered after; allocations, releases, and what waits have covered.
// Out: findings, where it is certain. Work whose memory is not known may read all of it, and so may work of
// other streams that is still running when a copy is given, or is given before the overwriting is surely
// over. Whatever is in doubt counts as used.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/necessity/order/order_states.h"
#include "analysis/necessity/tables/access_history.h"
#include "analysis/runs/evidence.h"

namespace diogenes::necessity {

struct UnusedData {
  OperationId operation;
  Unused how = Unused::no;
  OperationId by;          // what overwrote or released it; invalid: no call of the driver
  uint8_t conditions = 0;  // Condition
};

class UnusedUploads {
 public:
  UnusedUploads(const AccessHistory& history, std::vector<UnusedData>& out) : history_(history), out_(out) {}

  // `host`: what the calling thread knows to be done.
  void allocated(const Event& event, const Clock& host);
  // Before the history has it. `uploads`: it is a copy from the host to the device.
  void work(const Event& event, const Point& point, bool uploads, bool releases, bool allocates);
  void covered(const Clock& certain);
  void released(const Event& event);
  // Work that is out of sight may read anything, from now on.
  void give_up();

 private:
  static constexpr size_t kMostOfMemory = 256;  // open uploads to one allocation; older ones count as used
  struct Upload {
    AddressRange range;
    OperationId operation;
    StreamNumber stream;
    uint32_t tick = 0;
    bool rests = false;    // on kernels' arguments, already when it was given
    uint64_t kernels = 0;  // given before it
    bool overwritten = false;
    StreamNumber over_stream;
    uint32_t over_tick = 0;
    OperationId by;
  };
  struct Memory {
    AddressRange range;
    OperationId operation;
    bool named = false;     // by some work
    uint64_t unknown = 0;   // work that may name anything, given before it was made
    bool released = false;  // in the order of a stream: some of its uploads are still to be closed
    uint64_t kernels = 0;
    std::vector<Upload> uploads;
  };
  void read(Memory& memory, AddressRange range, const Clock& certain);
  void overwrite(Memory& memory, const Access& access, const Event& event, const Point& point);
  void close(const Upload& upload, Unused how, OperationId by);
  void close(const Memory& memory, OperationId by);
  uint8_t conditions(bool rests, uint64_t kernels_before) const;

  bool is_named(const Memory& memory) const { return memory.named || unknown_ > memory.unknown; }

  const AccessHistory& history_;
  std::vector<UnusedData>& out_;
  std::unordered_map<MemoryNumber, Memory> memories_;
  // Those with open uploads, and with overwritten ones; perhaps more.
  std::unordered_set<MemoryNumber> uploaded_, closing_;
  uint64_t unknown_ = 0;  // work that may name anything
  bool given_up_ = false;
};

}  // namespace diogenes::necessity
