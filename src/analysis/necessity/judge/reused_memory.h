// Memory as 'allocate once and use it again' makes it: what is released and what the same call allocates next in the same
// size (Process::reuses) is one memory. In: a process's events. Out: the same, with one number for each such memory; the
// releases in between are gone, and from where an allocation was the CPU writes host memory again.
// So a judge behind it says which synchronizations are needed once the program follows that advice.
#pragma once
#include <unordered_map>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

// Which allocations follow which releases; made once for a process.
class Reuses {
 public:
  explicit Reuses(const Process& process);
  bool empty() const { return allocated_after_.empty(); }
  // The allocation that gets what this call released, as key_of() names it; null: none does.
  const uint64_t* allocated_after(OperationId released) const;

 private:
  std::unordered_map<uint64_t, uint64_t> allocated_after_;  // by key_of()
};

class ReusedMemory : public EventSink {
 public:
  ReusedMemory(const Reuses& reuses, EventSink& to) : reuses_(reuses), to_(to) {}
  void take(const Event& event) override;

 private:
  struct Slot {
    MemoryNumber memory;
    uintptr_t begin = 0;
  };
  struct Moved {
    Slot slot;
    uintptr_t from = 0;  // where the memory begins that is part of it
  };
  Moved of(MemoryNumber memory, uintptr_t begin) const;
  void move(MemoryNumber& memory, AddressRange& range) const;
  void released(const Event& event);
  void allocated(const Event& event);

  const Reuses& reuses_;
  EventSink& to_;
  std::unordered_map<uint64_t, Slot> kept_;    // by the allocation that will get it
  std::unordered_map<uint32_t, Moved> moved_;  // by memory
  std::vector<Access> accesses_;               // of the event that is handed on
};

}  // namespace diogenes::necessity
