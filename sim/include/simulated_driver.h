// What only the simulated driver has: a private table, as a real driver has private tables that NVIDIA's own
// libraries use.
//   const void* table; CUuuid id = DIOGENES_SIMULATED_TABLE_ID; cuGetExportTable(&table, &id);
// Its `synchronize` waits for the current context without passing through any exported function; `gpu_times`
// tells when work ran. The rest is for tests.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "driver/cuda_abi.h"

#define DIOGENES_SIMULATED_TABLE_ID                                                    \
  {                                                                                    \
    { 'd', 'i', 'o', 'g', 'e', 'n', 'e', 's', '-', 's', 'i', 'm', '-', 't', 'b', '1' } \
  }

typedef struct DiogenesSimulatedTable_st {
  size_t size;                            // of this structure
  CUresult (*synchronize)(void);          // cuCtxSynchronize by a private way
  uint64_t (*waits_entered)(void);        // how often the wait function was entered in this process
  uint64_t (*queue_waits_entered)(void);  // the same of the one for a full launch queue
  const void* wait_function;              // their entries
  const void* queue_wait_function;
  const void* gpu_times;  // diogenes::GpuTimesSource (driver/gpu_times_source.h)
} DiogenesSimulatedTable;
