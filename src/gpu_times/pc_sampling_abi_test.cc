// What pc_sampling_abi.h declares, against a toolkit's headers.
#include "gpu_times/pc_sampling_abi.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <gtest/gtest.h>

namespace diogenes::cupti {
namespace {

#define SAME_PLACE(ours, member, theirs, their_member)                     \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ours::member) == sizeof(theirs::their_member))

SAME_PLACE(PcRecord, bytes, CUpti_PCSamplingPCData, size);
SAME_PLACE(PcRecord, module, CUpti_PCSamplingPCData, cubinCrc);
SAME_PLACE(PcRecord, offset, CUpti_PCSamplingPCData, pcOffset);
SAME_PLACE(PcRecord, function, CUpti_PCSamplingPCData, functionName);
SAME_PLACE(PcRecord, reason_count, CUpti_PCSamplingPCData, stallReasonCount);
SAME_PLACE(PcRecord, reasons, CUpti_PCSamplingPCData, stallReason);
SAME_PLACE(PcRecord, correlation, CUpti_PCSamplingPCData, correlationId);
static_assert(sizeof(PcRecord) == sizeof(CUpti_PCSamplingPCData));

SAME_PLACE(ReasonCount, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
SAME_PLACE(ReasonCount, samples, CUpti_PCSamplingStallReason, samples);
static_assert(sizeof(ReasonCount) == sizeof(CUpti_PCSamplingStallReason));

SAME_PLACE(PcData, bytes, CUpti_PCSamplingData, size);
SAME_PLACE(PcData, room, CUpti_PCSamplingData, collectNumPcs);
SAME_PLACE(PcData, total, CUpti_PCSamplingData, totalSamples);
SAME_PLACE(PcData, dropped, CUpti_PCSamplingData, droppedSamples);
SAME_PLACE(PcData, count, CUpti_PCSamplingData, totalNumPcs);
SAME_PLACE(PcData, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME_PLACE(PcData, records, CUpti_PCSamplingData, pPcData);
SAME_PLACE(PcData, foreign, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME_PLACE(PcData, buffer_full, CUpti_PCSamplingData, hardwareBufferFull);
static_assert(sizeof(PcData) == sizeof(CUpti_PCSamplingData));

SAME_PLACE(Configuration, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
SAME_PLACE(Configuration, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
using Theirs = CUpti_PCSamplingConfigurationInfo;
static_assert(offsetof(Configuration, number) ==
              offsetof(Theirs, attributeData.samplingPeriodData.samplingPeriod));
static_assert(offsetof(Configuration, number) ==
              offsetof(Theirs, attributeData.collectionModeData.collectionMode));
static_assert(offsetof(Configuration, buffer_bytes) ==
              offsetof(Theirs, attributeData.hardwareBufferSizeData.hardwareBufferSize));
static_assert(offsetof(Configuration, list.count) ==
              offsetof(Theirs, attributeData.stallReasonData.stallReasonCount));
static_assert(offsetof(Configuration, list.reasons) ==
              offsetof(Theirs, attributeData.stallReasonData.pStallReasonIndex));
static_assert(offsetof(Configuration, data) ==
              offsetof(Theirs, attributeData.samplingDataBufferData.samplingDataBuffer));
static_assert(sizeof(Configuration) == sizeof(Theirs));

static_assert(sizeof(ContextParameters) == CUpti_PCSamplingEnableParamsSize);
static_assert(sizeof(ContextParameters) == CUpti_PCSamplingDisableParamsSize);
static_assert(sizeof(ConfigurationParameters) == CUpti_PCSamplingConfigurationInfoParamsSize);
static_assert(sizeof(DataParameters) == CUpti_PCSamplingGetDataParamsSize);
static_assert(sizeof(ReasonCountParameters) == CUpti_PCSamplingGetNumStallReasonsParamsSize);
static_assert(sizeof(ReasonsParameters) == CUpti_PCSamplingGetStallReasonsParamsSize);
static_assert(sizeof(ResourceData) == sizeof(CUpti_ResourceData));

template <typename Ours, typename TheirValue>
constexpr bool same(Ours ours, TheirValue theirs) {
  return static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs);
}
static_assert(same(kErrorOutOfMemory, CUPTI_ERROR_OUT_OF_MEMORY));
static_assert(same(kErrorMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED));
static_assert(same(kErrorNotReady, CUPTI_ERROR_NOT_READY));
static_assert(same(kDomainResource, CUPTI_CB_DOMAIN_RESOURCE));
static_assert(same(kContextCreated, CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
static_assert(same(kContextDestroyStarting, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
static_assert(same(kReasonNameBytes, CUPTI_STALL_REASON_STRING_SIZE));
static_assert(same(kContinuous, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
static_assert(same(kSamplingPeriod, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD));
static_assert(same(kStallReasons, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON));
static_assert(same(kHardwareBuffer, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE));
static_assert(same(kCollectionMode, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE));
static_assert(same(kDataBuffer, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER));

// The results of which trace/gpu_samples.cc makes sentences.
static_assert(CUPTI_ERROR_HARDWARE_BUSY == 26 && CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED == 33);
static_assert(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == 35 && CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED == 38);
static_assert(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == 39);
static_assert(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES == 40);
static_assert(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED == 41 &&
              CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED == 42);
static_assert(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED == 43 && CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED == 44);
static_assert(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED == 45 && CUPTI_ERROR_UNKNOWN == 999);

TEST(PcSamplingAbi, IsTheToolkitsAsFarAsItIsDeclared) {
  EXPECT_GE(CUPTI_API_VERSION, kFirstWithThisPcRecord);
}

}  // namespace
}  // namespace diogenes::cupti
