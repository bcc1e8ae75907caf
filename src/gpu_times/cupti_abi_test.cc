// What cupti_abi.h declares, against a toolkit's headers.
#include "gpu_times/cupti_abi.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace diogenes::cupti {
namespace {

#define SAME_PLACE(ours, member, theirs, their_member)                     \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ours::member) == sizeof(theirs::their_member))

SAME_PLACE(Kernel, kind, CUpti_ActivityKernel10, kind);
SAME_PLACE(Kernel, registers_per_thread, CUpti_ActivityKernel10, registersPerThread);
SAME_PLACE(Kernel, start, CUpti_ActivityKernel10, start);
SAME_PLACE(Kernel, end, CUpti_ActivityKernel10, end);
SAME_PLACE(Kernel, stream, CUpti_ActivityKernel10, streamId);
SAME_PLACE(Kernel, dynamic_shared_memory, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME_PLACE(Kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME_PLACE(Kernel, name, CUpti_ActivityKernel10, name);
SAME_PLACE(Kernel, static_shared_memory, CUpti_ActivityKernel10, staticSharedMemory);
static_assert(offsetof(Kernel, grid) == offsetof(CUpti_ActivityKernel10, gridX));
static_assert(offsetof(Kernel, block) == offsetof(CUpti_ActivityKernel10, blockX));

SAME_PLACE(Memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME_PLACE(Memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME_PLACE(Memcpy, start, CUpti_ActivityMemcpy6, start);
SAME_PLACE(Memcpy, end, CUpti_ActivityMemcpy6, end);
SAME_PLACE(Memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME_PLACE(Memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);

SAME_PLACE(Memset, bytes, CUpti_ActivityMemset4, bytes);
SAME_PLACE(Memset, start, CUpti_ActivityMemset4, start);
SAME_PLACE(Memset, end, CUpti_ActivityMemset4, end);
SAME_PLACE(Memset, stream, CUpti_ActivityMemset4, streamId);
SAME_PLACE(Memset, correlation, CUpti_ActivityMemset4, correlationId);

SAME_PLACE(CallbackData, site, CUpti_CallbackData, callbackSite);
SAME_PLACE(CallbackData, correlation, CUpti_CallbackData, correlationId);
static_assert(sizeof(CallbackData) == sizeof(CUpti_CallbackData));

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs);
}
static_assert(same(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY));
static_assert(same(kMemset, CUPTI_ACTIVITY_KIND_MEMSET));
static_assert(same(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(same(kHostToDevice, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD));
static_assert(same(kDeviceToHost, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH));
static_assert(same(kHostToArray, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA));
static_assert(same(kArrayToHost, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH));
static_assert(kDomainDriver == CUPTI_CB_DOMAIN_DRIVER_API && kSiteEnter == CUPTI_API_ENTER);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(kSuccess == CUPTI_SUCCESS);
static_assert(kErrorMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);

// A call of ours reaches theirs: parameters of the same number and sizes.
template <typename Ours, typename Theirs>
struct SameShape : std::false_type {};
template <typename R1, typename... P1, typename R2, typename... P2>
struct SameShape<R1 (*)(P1...), R2(P2...)> {
  static constexpr bool sizes() {
    if constexpr (sizeof...(P1) == sizeof...(P2))
      return sizeof(R1) == sizeof(R2) && ((sizeof(P1) == sizeof(P2)) && ...);
    return false;
  }
  static constexpr bool value = sizes();
};
static_assert(SameShape<decltype(Functions::subscribe), decltype(cuptiSubscribe)>::value);
static_assert(SameShape<decltype(Functions::unsubscribe), decltype(cuptiUnsubscribe)>::value);
static_assert(SameShape<decltype(Functions::enable_domain), decltype(cuptiEnableDomain)>::value);
static_assert(
    SameShape<decltype(Functions::register_callbacks), decltype(cuptiActivityRegisterCallbacks)>::value);
static_assert(SameShape<decltype(Functions::register_timestamp),
                        decltype(cuptiActivityRegisterTimestampCallback)>::value);
static_assert(SameShape<decltype(Functions::enable), decltype(cuptiActivityEnable)>::value);
static_assert(SameShape<decltype(Functions::disable), decltype(cuptiActivityDisable)>::value);
static_assert(SameShape<decltype(Functions::next_record), decltype(cuptiActivityGetNextRecord)>::value);
static_assert(SameShape<decltype(Functions::flush_all), decltype(cuptiActivityFlushAll)>::value);

TEST(CuptiAbi, IsTheToolkitsAsFarAsItIsDeclared) { EXPECT_GT(CUPTI_API_VERSION, 0); }

}  // namespace
}  // namespace diogenes::cupti
