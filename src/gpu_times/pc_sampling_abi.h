// What the plug-in of samples uses of CUPTI's PC Sampling, so that it builds where there are no headers of it. Source:
// cupti_pcsampling.h, cupti_callbacks.h and cupti_result.h of CUDA 13.0. PcRecord is an array's element and so depends on the
// version: it is as CUDA 12.4 and later have it. Compared with the headers where they are (pc_sampling_abi_test.cc).
#pragma once
#include "gpu_times/cupti_abi.h"

namespace diogenes::cupti {

inline constexpr Result kErrorOutOfMemory = 8;  // the hardware's buffer is full
inline constexpr Result kErrorMaxLimitReached = 12;
inline constexpr Result kErrorNotReady = 13;
inline constexpr uint32_t kFirstWithThisPcRecord = 22;  // CUPTI_API_VERSION of CUDA 12.4
inline constexpr uint32_t kDomainResource = 3;          // CUPTI_CB_DOMAIN_RESOURCE
inline constexpr uint32_t kContextCreated = 1;          // CUPTI_CBID_RESOURCE_CONTEXT_CREATED
inline constexpr uint32_t kContextDestroyStarting = 2;  // CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING
inline constexpr size_t kReasonNameBytes = 128;         // CUPTI_STALL_REASON_STRING_SIZE
inline constexpr uint32_t kContinuous = 1;              // CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS

using Context = void*;

struct ResourceData {
  Context context;
  void* handle;
  void* descriptor;
};

struct ReasonCount {
  uint32_t reason, samples;
};

struct PcRecord {
  size_t bytes;     // of this structure, by us
  uint64_t module;  // as ModuleNumber gave it
  uint64_t offset;
  uint32_t function_index, reserved;
  char* function;
  size_t reason_count;
  ReasonCount* reasons;  // ours
  uint32_t correlation;
};

struct PcData {
  size_t bytes;  // of this structure, by us
  size_t room;   // records, by us
  uint64_t total, dropped;
  size_t count, remaining;  // records: here, and that are to be had
  uint64_t range;
  PcRecord* records;  // ours
  uint64_t foreign;
  uint8_t buffer_full;
};

enum Attribute : uint32_t {
  kSamplingPeriod = 1,  // 2^n cycles
  kStallReasons = 2,
  kHardwareBuffer = 4,  // bytes
  kCollectionMode = 5,
  kDataBuffer = 8,
};

struct Configuration {
  Attribute attribute;
  Result status;
  union {
    uint64_t largest[3];
    uint32_t number;
    size_t buffer_bytes;
    struct {
      size_t count;
      uint32_t* reasons;
    } list;
    PcData* data;
  };
};

// Each function takes one of these; `bytes` is its size.
struct ContextParameters {
  size_t bytes;
  void* reserved;
  Context context;
};
struct ConfigurationParameters : ContextParameters {
  size_t count;
  Configuration* attributes;
};
struct DataParameters : ContextParameters {
  PcData* data;
};
struct ReasonCountParameters : ContextParameters {
  size_t* count;
};
struct ReasonsParameters : ContextParameters {
  size_t count;
  uint32_t* reasons;
  char** names;  // of kReasonNameBytes
};

using ModuleNumber = void (*)(const void* cubin, size_t bytes, uint64_t* number);

// Looked up by name in the library that was opened.
struct SamplingFunctions {
  Result (*get_version)(uint32_t* version);
  Result (*get_device)(Context context, uint32_t* device);
  Result (*enable_callback)(uint32_t enable, Subscriber subscriber, uint32_t domain, uint32_t event);
  Result (*register_module_number)(ModuleNumber callback);
  Result (*enable)(ContextParameters* parameters);
  Result (*disable)(ContextParameters* parameters);
  Result (*count_reasons)(ReasonCountParameters* parameters);
  Result (*get_reasons)(ReasonsParameters* parameters);
  Result (*set_configuration)(ConfigurationParameters* parameters);
  Result (*get_configuration)(ConfigurationParameters* parameters);
  Result (*get_data)(DataParameters* parameters);
};

}  // namespace diogenes::cupti
