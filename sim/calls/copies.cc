// The names of the copies: each says what it copies, and transfer.cc does it.
#include "graphs/graphs.h"
#include "memory/transfer.h"

namespace diogenes::sim {
namespace {

constexpr Manner kBlocking = Manner::blocking, kAsynchronous = Manner::asynchronous;

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

Transfer flat(uintptr_t destination, Extent::Said destination_said, uintptr_t source,
              Extent::Said source_said, size_t bytes) {
  Transfer t;
  t.destination = {destination, bytes, 0, destination_said};
  t.source = {source, bytes, 0, source_said};
  t.width = bytes;
  t.between_host_and_device = destination_said == Extent::host || source_said == Extent::host;
  return t;
}

Transfer unified(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return flat(destination, Extent::unified, source, Extent::unified, bytes);
}
Transfer to_device(CUdeviceptr destination, const void* source, size_t bytes) {
  return flat(destination, Extent::device, address_of(source), Extent::host, bytes);
}
Transfer to_host(const void* destination, CUdeviceptr source, size_t bytes) {
  return flat(address_of(destination), Extent::host, source, Extent::device, bytes);
}
Transfer in_device(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return flat(destination, Extent::device, source, Extent::device, bytes);
}

// One side of a described copy. Zero pitch and height: packed.
CUresult side(CUmemorytype type, const void* host, CUdeviceptr device_address, size_t x, size_t y, size_t z,
              size_t pitch, size_t rows, const Transfer& t, Extent* extent) {
  uintptr_t base;
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      base = address_of(host);
      extent->said = Extent::host;
      break;
    case CU_MEMORYTYPE_DEVICE:
      base = device_address;
      extent->said = Extent::device;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      base = device_address;
      extent->said = Extent::unified;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (pitch == 0) pitch = x + t.width;
  if (pitch < x + t.width || (rows != 0 && rows < y + t.height && t.depth > 1))
    return CUDA_ERROR_INVALID_VALUE;
  if (rows == 0) rows = y + t.height;
  extent->pitch = pitch;
  extent->slice = pitch * rows;
  extent->base = base + z * extent->slice + y * pitch + x;
  return CUDA_SUCCESS;
}

CUresult planar(Null null, const CUDA_MEMCPY2D* c, Manner manner, CUstream stream = nullptr) {
  if (!c) return CUDA_ERROR_INVALID_VALUE;
  Transfer t;
  t.width = c->WidthInBytes;
  t.height = c->Height;
  if (const CUresult error = side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, 0,
                                  c->srcPitch, 0, t, &t.source))
    return error;
  if (const CUresult error = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, 0,
                                  c->dstPitch, 0, t, &t.destination))
    return error;
  t.between_host_and_device = t.source.said == Extent::host || t.destination.said == Extent::host;
  return transfer(null, t, manner, stream);
}

template <typename Description>  // CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER
CUresult describe(const Description* c, Transfer* result) {
  if (!c) return CUDA_ERROR_INVALID_VALUE;
  Transfer& t = *result;
  t.width = c->WidthInBytes;
  t.height = c->Height;
  t.depth = c->Depth;
  if (c->srcLOD != 0 || c->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY,
                                  c->srcZ, c->srcPitch, c->srcHeight, t, &t.source))
    return error;
  if (const CUresult error = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY,
                                  c->dstZ, c->dstPitch, c->dstHeight, t, &t.destination))
    return error;
  t.between_host_and_device = t.source.said == Extent::host || t.destination.said == Extent::host;
  return CUDA_SUCCESS;
}

template <typename Description>
CUresult solid(Null null, const Description* c, Manner manner, CUstream stream = nullptr) {
  Transfer t;
  if (const CUresult error = describe(c, &t)) return error;
  return transfer(null, t, manner, stream);
}

CUresult peer(Null null, CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
              CUcontext source_context, size_t bytes, Manner manner, CUstream stream = nullptr) {
  {
    const Held held = hold_device();
    if (!find_context(destination_context) || !find_context(source_context))
      return CUDA_ERROR_INVALID_CONTEXT;
  }
  return transfer(null, in_device(destination, source, bytes), manner, stream);
}

}  // namespace

CUresult copy_work(const CUDA_MEMCPY3D& copy, Work* work) {
  Transfer t;
  if (const CUresult error = describe(&copy, &t)) return error;
  return copy_work(t, work);
}

}  // namespace diogenes::sim

using namespace diogenes::sim;

// Blocking, on the legacy or on the calling thread's default stream.
#define BLOCKING(name, parameters, what)                                  \
  CUresult name parameters { return transfer(kLegacy, what, kBlocking); } \
  CUresult name##_ptds parameters { return transfer(kPerThread, what, kBlocking); }
// Asynchronous, on `stream`.
#define ASYNCHRONOUS(name, parameters, what)                                          \
  CUresult name parameters { return transfer(kLegacy, what, kAsynchronous, stream); } \
  CUresult name##_ptsz parameters { return transfer(kPerThread, what, kAsynchronous, stream); }

BLOCKING(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), unified(to, from, bytes))
BLOCKING(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes), to_device(to, from, bytes))
BLOCKING(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes), to_host(to, from, bytes))
BLOCKING(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes), in_device(to, from, bytes))
ASYNCHRONOUS(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
             unified(to, from, bytes))
ASYNCHRONOUS(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
             to_device(to, from, bytes))
ASYNCHRONOUS(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
             to_host(to, from, bytes))
ASYNCHRONOUS(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
             in_device(to, from, bytes))

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes) {
  return peer(kLegacy, to, to_context, from, from_context, bytes, kBlocking);
}
CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes) {
  return peer(kPerThread, to, to_context, from, from_context, bytes, kBlocking);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  return peer(kLegacy, to, to_context, from, from_context, bytes, kAsynchronous, stream);
}
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                CUcontext from_context, size_t bytes, CUstream stream) {
  return peer(kPerThread, to, to_context, from, from_context, bytes, kAsynchronous, stream);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return planar(kLegacy, copy, kBlocking); }
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* copy) { return planar(kPerThread, copy, kBlocking); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return planar(kLegacy, copy, kBlocking); }
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* copy) {
  return planar(kPerThread, copy, kBlocking);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return planar(kLegacy, copy, kAsynchronous, stream);
}
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return planar(kPerThread, copy, kAsynchronous, stream);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return solid(kLegacy, copy, kBlocking); }
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* copy) { return solid(kPerThread, copy, kBlocking); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return solid(kLegacy, copy, kAsynchronous, stream);
}
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return solid(kPerThread, copy, kAsynchronous, stream);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return solid(kLegacy, copy, kBlocking); }
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* copy) { return solid(kPerThread, copy, kBlocking); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return solid(kLegacy, copy, kAsynchronous, stream);
}
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return solid(kPerThread, copy, kAsynchronous, stream);
}
