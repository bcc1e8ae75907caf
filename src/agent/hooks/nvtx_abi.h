// What this library uses of NVTX 3, so that it builds where there are no headers of it. Source: nvToolsExt.h and
// nvtxDetail/nvtxTypes.h of CUDA 13.0 (NvtxExportTableCallbacks, NvtxCallbackIdCore, NvtxCallbackIdCore2,
// nvtxEventAttributes_v2). NVTX is a header: each file that was built with it may have an instance of its own, which loads
// the library that NVTX_INJECTION64_PATH names at its first call, asks it for InitializeInjectionNvtx2, and gives it the
// tables of pointers through which that instance calls. Compared with the headers where they are (nvtx_abi_test.cc).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cwchar>

namespace diogenes::nvtx {

inline constexpr const char* kInitializeName = "InitializeInjectionNvtx2";

using Function = void (*)();
using GetExportTable = const void* (*)(uint32_t table);
using Initialize = int (*)(GetExportTable get);  // 0: failed; the instance then does without

inline constexpr uint32_t kCallbacks = 1;  // NVTX_ETID_CALLBACKS

enum Module : uint32_t { kCore = 1, kCore2 = 5 };

struct CallbacksTable {
  size_t bytes;
  // `slots`: where the pointers are, by number; the first is null. 0: there is no such module.
  int (*get_module)(uint32_t module, Function*** slots, unsigned* count);
};

enum CoreSlot : unsigned {
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
};

enum Core2Slot : unsigned {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
};

// Opaque to the program: numbers of ours.
using Domain = uintptr_t;
using StringHandle = uintptr_t;
using RangeId = uint64_t;

inline constexpr int kNoTracking = -2;  // NVTX_NO_PUSH_POP_TRACKING: what calls return without a tool

enum MessageType : int32_t { kAscii = 1, kRegistered = 3 };

struct Attributes {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    StringHandle registered;
  } message;
};
static_assert(sizeof(Attributes) == 48);

}  // namespace diogenes::nvtx
