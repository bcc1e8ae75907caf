// Loaded by the driver in a test: leaves a mark in the environment that the driver called it, and used the
// driver itself.
#include <stdlib.h>

#include "driver/cuda_abi.h"

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  int count = 0;
  setenv("DIOGENES_TEST_INJECTED", cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 1 ? "yes" : "no", 1);
  return 1;
}
