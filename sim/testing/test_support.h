// What the simulator's tests share: a context, the kernels, a kernel that runs until it is released, and the
// private table.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "include/kernels_ptx.h"
#include "include/simulated_driver.h"

#define OK(call) ASSERT_EQ(CUDA_SUCCESS, call)

namespace diogenes::sim {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuCtxCreate(&context, 0, 0));
    OK(cuModuleLoadData(&module, diogenes_kernels_ptx));
    OK(cuModuleGetFunction(&spin_until, module, "spin_until"));
    OK(cuModuleGetFunction(&busy_for, module, "busy_for"));
    OK(cuModuleGetFunction(&fill, module, "fill"));
    OK(cuModuleGetFunction(&copy, module, "copy"));
    OK(cuModuleGetFunction(&add, module, "add"));
    void* pointer;
    OK(cuMemHostAlloc(&pointer, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    flag = static_cast<volatile uint32_t*>(pointer);
    *flag = 0;
    const CUuuid id = DIOGENES_SIMULATED_TABLE_ID;
    const void* found;
    OK(cuGetExportTable(&found, &id));
    table = static_cast<const DiogenesSimulatedTable*>(found);
  }
  void TearDown() override {
    *flag = 1;
    cuCtxSynchronize();
    EXPECT_EQ(CUDA_SUCCESS, cuCtxDestroy(context));
  }

  // A kernel on `stream` that runs until release().
  void hold(CUstream stream = nullptr) {
    *flag = 0;
    CUdeviceptr address;
    OK(cuMemHostGetDevicePointer(&address, const_cast<uint32_t*>(flag), 0));
    void* parameters[] = {&address};
    OK(cuLaunchKernel(spin_until, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  void release() { *flag = 1; }

  void busy(uint64_t ns, CUstream stream = nullptr) {
    void* parameters[] = {&ns};
    OK(cuLaunchKernel(busy_for, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  void fill_words(CUdeviceptr to, uint32_t value, uint64_t words, uint64_t ns, CUstream stream = nullptr) {
    void* parameters[] = {&to, &value, &words, &ns};
    OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  }
  uint32_t word_at(CUdeviceptr address) {
    uint32_t word = 0xdeadbeef;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&word, address, sizeof word));
    return word;
  }

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction spin_until = nullptr, busy_for = nullptr, fill = nullptr, copy = nullptr, add = nullptr;
  volatile uint32_t* flag = nullptr;
  const DiogenesSimulatedTable* table = nullptr;
};

}  // namespace diogenes::sim
