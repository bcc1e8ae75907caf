// The driver API with its functions visible: what a file that defines entry points includes. Everything else
// of the simulator is hidden, so that a program sees of it what it sees of a real driver.
#pragma once
#define DIOGENES_CUDA_NO_NAME_MAPPING
#pragma GCC visibility push(default)
#include "driver/cuda_abi.h"
#pragma GCC visibility pop
