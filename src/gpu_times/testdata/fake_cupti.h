// What a test tells the library that stands in for CUPTI to do.
#pragma once
#include <cstdint>

#include "gpu_times/cupti_abi.h"

namespace diogenes::fake_cupti {

struct Controls {
  cupti::Result subscribe_result;  // what cuptiSubscribe says
  cupti::Result kernels_result;    // what cuptiActivityEnable says of kernels
  bool enabled[16];                // by kind
  bool domain_enabled, subscribed;
  int flushes;
  const char* holder;  // who cuptiSubscribe_v2 says holds the interface; null: it succeeds
  // A call of the driver on this thread, from entry to exit; returns its correlation id.
  uint32_t (*call)();
  // Only one of them.
  void (*enter)();
  void (*leave)();
  // Work of that call has ended. Records are delivered in buffers of a few, when full or when flushed.
  void (*kernel)(uint32_t correlation, int64_t begin_ns, int64_t end_ns, uint32_t stream, const char* name);
  void (*copy)(uint32_t correlation, int64_t begin_ns, int64_t end_ns, uint8_t copy_kind);
  void (*fill)(uint32_t correlation, int64_t begin_ns, int64_t end_ns);
};

}  // namespace diogenes::fake_cupti
