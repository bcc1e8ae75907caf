// What nvtx_abi.h declares, against NVTX's headers.
#include "agent/hooks/nvtx_abi.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <type_traits>

namespace diogenes::nvtx {
namespace {

static_assert(sizeof(Attributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(Attributes, version) == offsetof(nvtxEventAttributes_t, version));
static_assert(offsetof(Attributes, bytes) == offsetof(nvtxEventAttributes_t, size));
static_assert(offsetof(Attributes, message_type) == offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(Attributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(kAscii == static_cast<int>(NVTX_MESSAGE_TYPE_ASCII));
static_assert(kRegistered == static_cast<int>(NVTX_MESSAGE_TYPE_REGISTERED));
static_assert(sizeof(RangeId) == sizeof(nvtxRangeId_t) && sizeof(Domain) == sizeof(nvtxDomainHandle_t) &&
              sizeof(StringHandle) == sizeof(nvtxStringHandle_t));
static_assert(kNoTracking == NVTX_NO_PUSH_POP_TRACKING);

static_assert(kCallbacks == static_cast<uint32_t>(NVTX_ETID_CALLBACKS));
static_assert(sizeof(CallbacksTable) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(CallbacksTable, get_module) ==
              offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(sizeof(NvtxCallbackModule) == sizeof(Module));
static_assert(kCore == static_cast<uint32_t>(NVTX_CB_MODULE_CORE));
static_assert(kCore2 == static_cast<uint32_t>(NVTX_CB_MODULE_CORE2));

#define SAME_SLOT(ours, theirs) static_assert(ours == static_cast<unsigned>(theirs))
SAME_SLOT(kRangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME_SLOT(kRangeStartA, NVTX_CBID_CORE_RangeStartA);
SAME_SLOT(kRangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME_SLOT(kRangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME_SLOT(kRangePushA, NVTX_CBID_CORE_RangePushA);
SAME_SLOT(kRangePushW, NVTX_CBID_CORE_RangePushW);
SAME_SLOT(kRangePop, NVTX_CBID_CORE_RangePop);
SAME_SLOT(kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_SLOT(kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
SAME_SLOT(kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_SLOT(kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME_SLOT(kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);

// One test, so that the program is a test.
TEST(NvtxAbi, IsThatOfTheHeaders) { EXPECT_EQ(nvtxRangePop(), kNoTracking) << "without a tool"; }

}  // namespace
}  // namespace diogenes::nvtx
