// The work of a cell as a graph that is built node by node: a kernel in a graph of its own, then a copy.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace litmus {

struct GraphWork {
  CUdeviceptr written = 0;  // by the kernel, with `value`, after `busy_us`
  uint32_t value = 0;
  size_t words = 0;
  uint64_t busy_us = 0;
  CUdeviceptr to = 0, from = 0;  // then copied; 0: nothing is
  void* to_host = nullptr;       // instead of `to`
  const void* from_host = nullptr;
};

CUgraph graph_of_nodes(const GraphWork& work);

}  // namespace litmus
