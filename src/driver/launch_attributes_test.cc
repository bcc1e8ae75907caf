#include "driver/launch_attributes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace diogenes {
namespace {

bool copy_all(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  return true;
}
bool copy_nothing(void*, const void*, size_t) { return false; }

LaunchAttributes of(std::initializer_list<CUlaunchAttributeID> ids, int allowed = 1) {
  CUlaunchAttribute attributes[4]{};
  CUlaunchConfig config{};
  config.attrs = attributes;
  for (const CUlaunchAttributeID id : ids) {
    attributes[config.numAttrs].value.programmaticStreamSerializationAllowed = allowed;
    attributes[config.numAttrs++].id = id;
  }
  return launch_attributes(&config, copy_all);
}

TEST(LaunchAttributes, SayWhetherAKernelBeginsEarly) {
  EXPECT_FALSE(of({}).starts_early);
  EXPECT_FALSE(of({CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_PRIORITY}).starts_early);
  const LaunchAttributes early =
      of({CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION});
  EXPECT_TRUE(early.starts_early);
  EXPECT_FALSE(early.records_event);
  EXPECT_FALSE(of({CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}, 0).starts_early);
}

TEST(LaunchAttributes, SayWhetherAnEventIsRecorded) {
  EXPECT_TRUE(of({CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}).records_event);
  EXPECT_TRUE(of({CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}).records_event);
}

TEST(LaunchAttributes, OfMemoryThatIsNotThereSayNothing) {
  EXPECT_FALSE(launch_attributes(nullptr, copy_nothing).starts_early);
}

}  // namespace
}  // namespace diogenes
