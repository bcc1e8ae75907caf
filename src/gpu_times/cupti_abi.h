// What the plug-in uses of CUPTI, so that it builds where there are no headers of it. Source:
// cupti_activity.h, cupti_callbacks.h and cupti_result.h of CUDA 13.0 (CUpti_ActivityKernel10,
// CUpti_ActivityMemcpy6, CUpti_ActivityMemset4, CUpti_CallbackData). Of each record only the front is
// declared: it has been the same since CUDA 9 (CUpti_ActivityKernel4, CUpti_ActivityMemcpy,
// CUpti_ActivityMemset). Compared with the headers where they are (cupti_abi_test.cc).
#pragma once
#include <cstddef>
#include <cstdint>

namespace diogenes::cupti {

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorMultipleSubscribers = 39;

enum Kind : uint32_t { kMemcpy = 1, kMemset = 2, kConcurrentKernel = 10 };

enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kHostToArray = 3, kArrayToHost = 4 };

inline constexpr uint32_t kDomainDriver = 1;  // CUPTI_CB_DOMAIN_DRIVER_API
inline constexpr uint32_t kSiteEnter = 0;     // CUPTI_API_ENTER
inline constexpr uint32_t kFlushForced = 1;   // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

struct Activity {
  Kind kind;
};

struct Kernel {
  Kind kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared_memory, dynamic_shared_memory;
  uint32_t local_memory_per_thread, local_memory_total;
  uint32_t correlation;
  int64_t grid_number;
  const char* name;  // shared by all records of the kernel
};

struct Memcpy {
  Kind kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};

struct Memset {
  Kind kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};

struct CallbackData {
  uint32_t site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  uint32_t context_number;
  uint64_t* correlation_data;
  uint32_t correlation;
};

using Subscriber = void*;
using Callback = void (*)(void* user, uint32_t domain, uint32_t function, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
using Timestamp = uint64_t (*)();

// The fields that the first version with cuptiSubscribe_v2 had; it goes by `bytes`.
struct SubscriberParameters {
  size_t bytes;
  const char* name;     // ours
  char* holder;         // gets the name of the tool that is in the way
  size_t holder_bytes;  // room for it
};
inline constexpr size_t kHolderBytes = 256;

// Looked up by name in the library that was opened.
struct Functions {
  Result (*subscribe)(Subscriber* subscriber, Callback callback, void* user);
  Result (*unsubscribe)(Subscriber subscriber);
  Result (*enable_domain)(uint32_t enable, Subscriber subscriber, uint32_t domain);
  Result (*register_callbacks)(BufferRequested requested, BufferCompleted completed);
  Result (*register_timestamp)(Timestamp clock);
  Result (*enable)(Kind kind);
  Result (*disable)(Kind kind);
  Result (*next_record)(uint8_t* buffer, size_t valid, Activity** record);
  Result (*flush_all)(uint32_t flag);
  // Null in libraries of CUDA 12.
  Result (*subscribe_v2)(Subscriber* subscriber, Callback callback, void* user,
                         SubscriberParameters* parameters);
};

}  // namespace diogenes::cupti
