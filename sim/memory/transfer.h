// Copies of up to three dimensions and fills: what they are, which of them wait, and how they are done.
//   waits, on the calling thread's own CPU    pageable memory, but for small asynchronous copies to the device
//   waits for the copy engine                 blocking copies between host and device memory, blocking fills of
//                                             host memory
//   returns at once                           the rest
// Source of the rules: measured (docs/driver-facts.md); sizes in costs.h.
#pragma once
#include <cstdint>

#include "calls/state.h"
#include "graphs/capture.h"

namespace diogenes::sim {

struct Extent {
  uintptr_t base = 0;
  size_t pitch = 0, slice = 0;  // bytes from row to row, and from layer to layer
  enum Said { host, device, unified } said = unified;
};

struct Transfer {
  Extent destination, source;
  size_t width = 0, height = 1, depth = 1;  // bytes, rows, layers
  bool between_host_and_device = false;     // by the function's name
  size_t bytes() const { return width * height * depth; }
};

enum class Manner : uint8_t { blocking, asynchronous };

CUresult transfer(Null null, const Transfer& what, Manner manner, CUstream stream = nullptr);
CUresult fill(Null null, CUdeviceptr base, size_t pitch, uint32_t value, unsigned element, size_t width,
              size_t height, Manner manner, CUstream stream = nullptr);

// The work of a graph's node, described; what a captured call describes itself by.
CUresult copy_work(const Transfer& transfer, Work* work);
CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS& fill, Work* work);
std::shared_ptr<const NodeDescription> description_of(const Transfer& transfer);

}  // namespace diogenes::sim
