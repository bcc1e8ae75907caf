#include "transfer.h"

#include <algorithm>
#include <cstring>

#include "calls/wait.h"
#include "memory_map.h"

namespace diogenes::sim {
namespace {

struct Place {
  bool pageable = false;
  MemoryKind kind = MemoryKind::device;
  bool host() const { return pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered; }
};

// Where an extent lies; an error where it is said to be the device's and is not, or leaves its allocation.
CUresult locate(const Extent& extent, const Transfer& t, Place* place) {
  const auto found = memory_map().find(extent.base);
  if (!found) {
    place->pageable = true;
    return extent.said == Extent::device || extent.base == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  if (late_mode && late_retired(found->base)) {
    place->pageable = true;
    return extent.said == Extent::device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  place->kind = found->kind;
  const size_t last = (t.depth - 1) * extent.slice + (t.height - 1) * extent.pitch + t.width;
  return last <= found->bytes - (extent.base - found->base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Calls move(destination, source, bytes) for every piece that is contiguous on both sides.
template <typename Move>
bool each_row(const Transfer& t, Move move) {
  const bool flat =
      (t.height == 1 || (t.destination.pitch == t.width && t.source.pitch == t.width)) && t.depth == 1;
  if (flat) return move(t.destination.base, t.source.base, t.bytes());
  for (size_t z = 0; z < t.depth; ++z)
    for (size_t y = 0; y < t.height; ++y)
      if (!move(t.destination.base + z * t.destination.slice + y * t.destination.pitch,
                t.source.base + z * t.source.slice + y * t.source.pitch, t.width))
        return false;
  return true;
}

Effect checked(bool possible) { return possible ? Effect::done : Effect::illegal_address; }

CopyDirection direction_of(const Place& source) {
  return source.host() ? CopyDirection::host_to_device : CopyDirection::device_to_host;
}

// The driver's own copy, through the program's mapping: it meets the program's page protection.
bool copy_by_cpu(const Transfer& t, const Place& destination, const Place& source) {
  return each_row(t, [&](uintptr_t to, uintptr_t from, size_t bytes) {
    if (destination.pageable && source.pageable)
      memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    else if (destination.pageable)
      return memory_map().read(reinterpret_cast<void*>(to), from, bytes);
    else
      return memory_map().write(to, reinterpret_cast<const void*>(from), bytes);
    return true;
  });
}

CUresult fail(ApiCall& call) {
  call.context->sticky_error.store(CUDA_ERROR_ILLEGAL_ADDRESS, std::memory_order_relaxed);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

// Takes its turn in the stream, and does the copy on this thread.
CUresult transfer_by_cpu(ApiCall& call, const StreamPtr& stream, const Transfer& t, const Place& destination,
                         const Place& source) {
  OpPtr op;
  {
    const Held held = hold_device();
    if (const CUresult error = allowed_outside_capture(*stream)) return error;
    Work turn;
    turn.kind = Kind::by_host;
    if (const CUresult error = enqueue(stream, std::move(turn), &op)) return error;
  }
  const CUresult before = wait_for(call, {op}, kWaitUntilRunning);
  call.costs(copy_call_ns(direction_of(source), HostMemory::pageable, t.bytes()));
  const bool possible = before != CUDA_SUCCESS || copy_by_cpu(t, destination, source);
  call.spend();
  {
    const Held held = hold_device();
    device().finish(op, now_ns());
  }
  if (before != CUDA_SUCCESS) return before;
  return possible ? CUDA_SUCCESS : fail(call);
}

// What a graph's node does with pageable memory: the bytes of its launch, read without heed to protection.
Work staged_work(const Transfer& t, bool now) {
  Work work;
  work.engine = Engine::host_to_device;
  work.bytes = t.bytes();
  work.duration_ns = copy_engine_ns(CopyDirection::host_to_device, HostMemory::pinned, t.bytes());
  if (!now) {
    work.effect = [t] {
      return checked(each_row(t, [](uintptr_t to, uintptr_t from, size_t bytes) {
        std::vector<char> staging(bytes);
        return memory_map().read_any(staging.data(), from, bytes) &&
               memory_map().write(to, staging.data(), bytes);
      }));
    };
    return work;
  }
  auto staging = std::make_shared<std::vector<char>>();
  staging->reserve(t.bytes());
  each_row(t, [&](uintptr_t, uintptr_t from, size_t bytes) {
    const char* at = reinterpret_cast<const char*>(from);
    staging->insert(staging->end(), at, at + bytes);
    return true;
  });
  work.effect = [t, staging] {
    const char* at = staging->data();
    return checked(each_row(t, [&](uintptr_t to, uintptr_t, size_t bytes) {
      const bool possible = memory_map().write(to, at, bytes);
      at += bytes;
      return possible;
    }));
  };
  return work;
}

uintptr_t end_of(const Extent& extent, const Transfer& t) {
  return extent.base + (t.depth - 1) * extent.slice + (t.height - 1) * extent.pitch + t.width;
}

bool on_host(const Place& place) { return place.host() || place.kind == MemoryKind::managed; }

// Adversarial mode: bytes for pageable memory, from a call that should have waited, come when they come.
// Memory that is gone by then loses them: a program that gave it back has no use for them.
Work late_download(const Transfer& t) {
  Work work;
  work.effect = [t, then = late_now()] {
    each_row(t, [then](uintptr_t to, uintptr_t from, size_t bytes) {
      std::vector<char> staging(bytes);
      if (late_gone_since(then, to, to + bytes)) return true;
      return memory_map().read(staging.data(), from, bytes) &&
             memory_map().write_any(to, staging.data(), bytes);
    });
    return Effect::done;
  };
  work.host.push_back({t.destination.base, end_of(t.destination, t), true});
  return work;
}

Work engine_work(const Transfer& t, const Place& destination, const Place& source) {
  Work work;
  work.bytes = t.bytes();
  if (source.host() == destination.host()) {
    work.engine = Engine::device_to_device;
    work.duration_ns = device_copy_ns(t.bytes());
  } else {
    const CopyDirection direction = direction_of(source);
    work.engine = source.host() ? Engine::host_to_device : Engine::device_to_host;
    work.duration_ns = copy_engine_ns(direction, HostMemory::pinned, t.bytes());
  }
  work.effect = [t] {
    return checked(each_row(
        t, [](uintptr_t to, uintptr_t from, size_t bytes) { return memory_map().copy(to, from, bytes); }));
  };
  if (late_mode && (destination.kind == MemoryKind::registered || source.kind == MemoryKind::registered)) {
    // As in late_download(); and what was to be read is lost, which shows.
    auto base = [](uintptr_t address) {
      const auto found = memory_map().find(address);
      return found ? found->base : 0;
    };
    work.effect = [to = base(t.destination.base), from = base(t.source.base),
                   effect = std::move(work.effect)] {
      const Effect result = effect();
      const bool gone = late_retired(to) || late_retired(from);
      return result != Effect::done && gone ? Effect::done : result;
    };
  }
  if (late_mode && on_host(destination))
    work.host.push_back({t.destination.base, end_of(t.destination, t), true});
  if (late_mode && on_host(source)) work.host.push_back({t.source.base, end_of(t.source, t), false});
  return work;
}

Work engine_fill(CUdeviceptr base, size_t pitch, uint32_t value, unsigned element, size_t width,
                 size_t height, const Transfer& t, const Place& place) {
  Work work;
  work.bytes = t.bytes();
  work.duration_ns = device_copy_ns(t.bytes());
  work.latency_ns = kSubmitCost;
  if (late_mode && on_host(place)) work.host.push_back({base, end_of(t.destination, t), true});
  work.effect = [=] {
    for (size_t y = 0; y < height; ++y)
      if (!memory_map().fill(base + y * pitch, value, element, width)) return Effect::illegal_address;
    return Effect::done;
  };
  return work;
}

// What a fill writes.
CUresult fill_extent(CUdeviceptr base, size_t pitch, unsigned element, size_t width, size_t height,
                     Transfer* t, Place* place) {
  if (base % element != 0) return CUDA_ERROR_INVALID_VALUE;
  t->width = width * element;
  t->height = height;
  t->destination = {base, height == 1 ? t->width : pitch, 0, Extent::device};
  if (height > 1 && pitch < t->width) return CUDA_ERROR_INVALID_VALUE;
  return locate(t->destination, *t, place);
}

std::shared_ptr<const NodeDescription> description_of(const CUDA_MEMSET_NODE_PARAMS& fill) {
  auto node = std::make_shared<NodeDescription>();
  node->type = CU_GRAPH_NODE_TYPE_MEMSET;
  node->fill = fill;
  return node;
}

// Submits, and waits where the manner is a blocking one.
CUresult submit(ApiCall& call, const StreamPtr& stream, Work work, bool waits) {
  wait_for_room(call, *stream);
  OpPtr op;
  {
    const Held held = hold_device();
    if (waits)
      if (const CUresult error = allowed_outside_capture(*stream)) return error;
    if (const CUresult error = enqueue(stream, std::move(work), &op)) return error;
  }
  return waits ? wait_for(call, {op}) : CUDA_SUCCESS;
}

CUresult stream_for(ApiCall& call, Null null, CUstream handle, StreamPtr* stream, bool* capturing) {
  const Held held = hold_device();
  *stream = find_stream(*call.context, handle, null);
  *capturing = *stream && (*stream)->capture;
  return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult transfer(Null null, const Transfer& t, Manner manner, CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kSubmitCost);
  if (t.bytes() == 0) return CUDA_SUCCESS;
  Place destination, source;
  if (const CUresult error = locate(t.destination, t, &destination)) return error;
  if (const CUresult error = locate(t.source, t, &source)) return error;
  StreamPtr stream;
  bool capturing;
  if (const CUresult error = stream_for(call, null, handle, &stream, &capturing)) return error;
  const bool blocking = manner == Manner::blocking;
  // A moved wait for what this copy reads happens here, or below at the first touch of pageable memory.
  if (late_mode && (source.pageable || on_host(source))) late_touch(t.source.base, end_of(t.source, t));

  if (destination.pageable || source.pageable) {
    const bool at_once = !blocking && !destination.pageable && (t.bytes() <= kPageableAtOnce || capturing);
    if (!at_once && !capturing && call.listed() != Listed::no && !(destination.pageable && source.pageable))
      return submit(call, stream, destination.pageable ? late_download(t) : staged_work(t, true), true);
    if (!at_once) return transfer_by_cpu(call, stream, t, destination, source);
    if (!capturing)
      call.costs(std::max(
          kSubmitCost,
          copy_call_ns(CopyDirection::host_to_device, HostMemory::pageable, t.bytes()) - kSubmitCost));
    Work staged = staged_work(t, !capturing);
    if (capturing) staged.node = description_of(t);
    return submit(call, stream, std::move(staged), false);
  }
  const bool on_device_only = destination.kind == MemoryKind::device && source.kind == MemoryKind::device;
  Work work = engine_work(t, destination, source);
  if (capturing) work.node = description_of(t);
  return submit(call, stream, std::move(work), blocking && (t.between_host_and_device || !on_device_only));
}

CUresult fill(Null null, CUdeviceptr base, size_t pitch, uint32_t value, unsigned element, size_t width,
              size_t height, Manner manner, CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kSubmitCost);
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  Transfer t;
  Place place;
  if (const CUresult error = fill_extent(base, pitch, element, width, height, &t, &place)) return error;
  StreamPtr stream;
  bool capturing;
  if (const CUresult error = stream_for(call, null, handle, &stream, &capturing)) return error;
  Work work = engine_fill(base, pitch, value, element, width, height, t, place);
  if (capturing) work.node = description_of({base, pitch, value, element, width, height});
  return submit(call, stream, std::move(work),
                manner == Manner::blocking && place.kind != MemoryKind::device);
}

std::shared_ptr<const NodeDescription> description_of(const Transfer& t) {
  auto node = std::make_shared<NodeDescription>();
  node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  CUDA_MEMCPY3D& c = node->copy;
  c.WidthInBytes = t.width, c.Height = t.height, c.Depth = t.depth;
  auto type = [](const Extent& extent) {
    return extent.said == Extent::host     ? CU_MEMORYTYPE_HOST
           : extent.said == Extent::device ? CU_MEMORYTYPE_DEVICE
                                           : CU_MEMORYTYPE_UNIFIED;
  };
  auto pitch = [&t](const Extent& extent) { return extent.pitch ? extent.pitch : t.width; };
  c.srcMemoryType = type(t.source), c.dstMemoryType = type(t.destination);
  if (t.source.said == Extent::host)
    c.srcHost = reinterpret_cast<const void*>(t.source.base);
  else
    c.srcDevice = t.source.base;
  if (t.destination.said == Extent::host)
    c.dstHost = reinterpret_cast<void*>(t.destination.base);
  else
    c.dstDevice = t.destination.base;
  c.srcPitch = pitch(t.source), c.dstPitch = pitch(t.destination);
  c.srcHeight = t.source.slice ? t.source.slice / c.srcPitch : t.height;
  c.dstHeight = t.destination.slice ? t.destination.slice / c.dstPitch : t.height;
  return node;
}

CUresult copy_work(const Transfer& t, Work* work) {
  Place destination, source;
  if (t.bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = locate(t.destination, t, &destination)) return error;
  if (const CUresult error = locate(t.source, t, &source)) return error;
  if (destination.pageable) return CUDA_ERROR_NOT_SUPPORTED;
  *work = source.pageable ? staged_work(t, false) : engine_work(t, destination, source);
  work->node = description_of(t);
  return CUDA_SUCCESS;
}

CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS& f, Work* work) {
  if (f.width == 0 || f.height == 0 || (f.elementSize != 1 && f.elementSize != 2 && f.elementSize != 4))
    return CUDA_ERROR_INVALID_VALUE;
  Transfer t;
  Place place;
  if (const CUresult error = fill_extent(f.dst, f.pitch, f.elementSize, f.width, f.height, &t, &place))
    return error;
  *work = engine_fill(f.dst, f.pitch, f.value, f.elementSize, f.width, f.height, t, place);
  work->node = description_of(f);
  return CUDA_SUCCESS;
}

}  // namespace diogenes::sim
