// Arguments of calls as the hooks see them.
#include "agent/core/calls/arguments.h"

#include <gtest/gtest.h>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/pass_through.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

DriverCalls driver_calls;
PassThrough::PassThrough() {}
PassThrough::~PassThrough() {}

namespace {

uint32_t blocks(const char* symbol, std::initializer_list<uint64_t> arguments) {
  Call call;
  call.function = find_driver_function(symbol);
  call.driver = driver_function(call.function);
  int i = 0;
  for (uint64_t argument : arguments) call.arguments.integer[i++] = argument;
  return launched_blocks(call);
}

TEST(Arguments, BlocksOfALaunch) {
  EXPECT_EQ(blocks("cuLaunchKernel", {0xf, 32, 1, 1, 256, 1}), 32u);
  EXPECT_EQ(blocks("cuLaunchCooperativeKernel", {0xf, 4, 5, 6, 1, 1}), 120u);
  // The upper half of a register is not part of an `unsigned int`.
  EXPECT_EQ(blocks("cuLaunchKernel", {0xf, 0xabcd'0000'0007, 1, 1, 1, 1}), 7u);
  EXPECT_EQ(blocks("cuLaunchKernel", {0xf, 0x7fffffff, 0xffff, 0xffff, 1, 1}), UINT32_MAX);
  CUlaunchConfig configuration{};
  configuration.gridDimX = 3;
  configuration.gridDimY = 2;
  configuration.gridDimZ = 1;
  EXPECT_EQ(blocks("cuLaunchKernelEx", {reinterpret_cast<uint64_t>(&configuration), 0xf}), 6u);
  EXPECT_EQ(blocks("cuLaunchKernelEx", {0, 0xf}), 0u);
  EXPECT_EQ(blocks("cuLaunchGrid", {0xf, 3, 2}), 0u) << "not read, so not known";
}

}  // namespace
}  // namespace diogenes::agent
