// What a test tells the library that stands in for CUPTI to do, as far as it samples.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpu_times/pc_sampling_abi.h"

namespace diogenes::fake_cupti {

struct Sample {
  uint64_t module, offset;
  const char* function;
  std::map<uint32_t, uint32_t> counts;  // by reason
  bool late = false;                    // not to be had before sampling is disabled
};

// Reasons by the numbers that the library gives them, which are not in order.
inline constexpr uint32_t kScoreboard = 7, kScoreboardNotIssued = 3, kSelected = 12;

struct SamplingControls {
  uint32_t version = 130001;
  cupti::Result register_result = 0, enable_result = 0, reasons_result = 0, configure_result = 0,
                attribute_status = 0;
  std::atomic<cupti::Result> data_result{0};
  std::atomic<bool> buffer_full{false};          // of the next drain
  std::atomic<uint64_t> dropped{0}, foreign{0};  // told at the next drain
  std::atomic<bool> stuck{false}, hangs{false};  // a drain is not to return; does not
  std::function<void()> while_disabling{};

  // What was done.
  std::atomic<int> enabled{0}, disabled{0}, drains{0};
  std::atomic<bool> signals_blocked{false};  // in the last drain outside of a callback
  std::vector<std::string> misuse{};

  void (*create)(void* context);
  void (*destroy)(void* context);
  uint64_t (*load)(const std::vector<uint8_t>& cubin);  // a module; its number
  void (*sample)(void* context, const Sample& sample);
};

}  // namespace diogenes::fake_cupti
