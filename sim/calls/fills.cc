// The names of the fills.
#include "memory/transfer.h"

using namespace diogenes::sim;

// One element width: flat and pitched, blocking and asynchronous, on either default stream.
#define FILLS(bits, type)                                                                                  \
  CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                                \
    return fill(kLegacy, to, 0, value, bits / 8, count, 1, Manner::blocking);                              \
  }                                                                                                        \
  CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr to, type value, size_t count) {                           \
    return fill(kPerThread, to, 0, value, bits / 8, count, 1, Manner::blocking);                           \
  }                                                                                                        \
  CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {             \
    return fill(kLegacy, to, 0, value, bits / 8, count, 1, Manner::asynchronous, stream);                  \
  }                                                                                                        \
  CUresult cuMemsetD##bits##Async_ptsz(CUdeviceptr to, type value, size_t count, CUstream stream) {        \
    return fill(kPerThread, to, 0, value, bits / 8, count, 1, Manner::asynchronous, stream);               \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) { \
    return fill(kLegacy, to, pitch, value, bits / 8, width, height, Manner::blocking);                     \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr to, size_t pitch, type value, size_t width,             \
                                       size_t height) {                                                    \
    return fill(kPerThread, to, pitch, value, bits / 8, width, height, Manner::blocking);                  \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                                    CUstream stream) {                                                     \
    return fill(kLegacy, to, pitch, value, bits / 8, width, height, Manner::asynchronous, stream);         \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##Async_ptsz(CUdeviceptr to, size_t pitch, type value, size_t width,           \
                                         size_t height, CUstream stream) {                                 \
    return fill(kPerThread, to, pitch, value, bits / 8, width, height, Manner::asynchronous, stream);      \
  }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
