// CHECK(cudaFree(p)): on an error, says which call failed, where and why, and ends the program.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                       \
  do {                                                                                                    \
    const cudaError_t check_result = (call);                                                              \
    if (check_result != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_result)); \
      std::exit(1);                                                                                       \
    }                                                                                                     \
  } while (0)
