// What a launch says beside where it goes (cuLaunchKernelEx). Source: the CUDA Driver API, CUlaunchAttributeID.
#pragma once
#include "driver/cuda_types.h"

namespace diogenes {

struct LaunchAttributes {
  bool starts_early = false;   // the kernel may begin before what its stream was given earlier is done
  bool records_event = false;  // an event is recorded on the way
};

// `configuration`: the call's first argument. `copy(to, from, bytes)`: false where the memory cannot be read; then what was
// read is said.
template <typename Copy>
LaunchAttributes launch_attributes(const void* configuration, Copy copy) {
  LaunchAttributes found;
  CUlaunchConfig config{};
  if (!copy(&config, configuration, sizeof config)) return found;
  constexpr unsigned kMost = 64;
  for (unsigned i = 0; i < config.numAttrs && i < kMost; ++i) {
    CUlaunchAttribute attribute{};
    if (!copy(&attribute, config.attrs + i, sizeof attribute)) break;
    found.starts_early |= attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                          attribute.value.programmaticStreamSerializationAllowed;
    found.records_event |= attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
                           attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  }
  return found;
}

}  // namespace diogenes
