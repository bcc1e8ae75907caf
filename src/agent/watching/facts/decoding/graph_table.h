// What executable graphs do, as the driver told of their nodes. A graph that is not here, or does not fit, may do anything.
// Serialised by the collector's lock, except that an entry which nobody else knows is filled outside of it.
#pragma once
#include <cstdint>

#include "agent/core/memory/kernel_arguments.h"
#include "base/fixed_map.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent::facts {

struct GraphCopy {
  AddressRange destination, source;  // source: empty for a fill
  bool to_host, from_host;           // said to be host memory
};

struct GraphContent {
  static constexpr int kCopies = 64;
  bool used;
  bool kernels;
  uint32_t flags;                    // OperandListFlag: what is not listed
  KernelAddresses kernel_addresses;  // words that kernels get
  uint16_t copy_count;
  GraphCopy copies[kCopies];

  void clear();
  void unknown();  // may do anything
  void add_word(uint64_t word);
  void add_copy(const GraphCopy& copy);
};

class Graphs {
 public:
  static constexpr int kMaximum = 512;

  GraphContent* find(uint64_t executable);
  GraphContent* reserve();  // an entry that no graph has yet; null: none is left
  void put(GraphContent* content, uint64_t executable);
  void forget(uint64_t executable);
  void reset();

 private:
  GraphContent contents_[kMaximum];
  FixedMap<uint16_t, 1024> by_executable_;
};

}  // namespace diogenes::agent::facts
