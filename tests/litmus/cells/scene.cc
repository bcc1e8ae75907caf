#include "scene.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "nodes.h"

namespace litmus {
namespace {

alignas(64) uint32_t global_data[kSmallWords];

bool by_kernel(Memory memory) { return memory == Memory::managed || memory == Memory::mapped; }
bool small(Memory memory) {
  return memory == Memory::heap || memory == Memory::stack || memory == Memory::global;
}
bool is_pageable(Memory memory) { return memory == Memory::large || small(memory); }

// Is the wait of the copy itself all that there is to wait for?
bool waits_by_copy(Ordering ordering) {
  return ordering == Ordering::copy || ordering == Ordering::async_copy || ordering == Ordering::done ||
         ordering == Ordering::event_done;
}

// The same as give_work(), for a graph.
GraphWork as_nodes(const Cell& cell, const Scene& scene) {
  GraphWork work{scene.device, scene.value, scene.words, kBusyUs, 0, 0, nullptr, nullptr};
  const bool kernels = by_kernel(cell.row->memory);
  if (cell.is_source()) {
    work.value = 0;
    work.to = scene.device;
    if (kernels)
      work.from = address(scene.data);
    else
      work.from_host = scene.data;
  } else if (kernels && cell.consumer != Consumer::stream) {
    work.written = address(scene.data);
  } else if (cell.consumer != Consumer::stream) {
    work.from = scene.device;
    work.to_host = scene.data;
  }
  return work;
}

// By a kernel that finds both sides' addresses where the CPU put them.
void give_linked(const Cell& cell, Scene& scene, CUstream stream) {
  World& w = *world;
  const bool source = cell.is_source();
  w.gpu.fill(scene.device, source ? 0 : scene.value, scene.words, kBusyUs, stream);
  scene.other[0] = source ? scene.device : address(scene.data);
  scene.other[1] = source ? address(scene.data) : scene.device;
  uint64_t told = address(scene.other), words = scene.words, ns = 10'000;
  void* parameters[] = {&told, &words, &ns};
  CHECK(cuLaunchKernel(w.copy_as_told, 32, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

// The GPU writes the memory, or reads it.
void give_use(const Cell& cell, Scene& scene, CUstream stream) {
  World& w = *world;
  const Memory memory = cell.row->memory;
  const Ordering ordering = cell.row->ordering;
  const size_t words = ordering == Ordering::beside ? kSmallWords : scene.words;
  auto fill = [&](CUdeviceptr to, uint32_t value) {
    if (is_in_foreign(ordering))
      foreign().fill(to, value, words, kBusyUs);
    else
      w.gpu.fill(to, value, words, kBusyUs, stream);
  };
  if (ordering == Ordering::beside) return fill(address(scene.other), scene.value);
  if (ordering == Ordering::linked && cell.consumer != Consumer::stream)
    return give_linked(cell, scene, stream);
  if (cell.is_source()) {  // the GPU reads the memory
    fill(scene.device, 0);
    if (by_kernel(memory))
      w.gpu.copy(scene.device, address(scene.data), scene.words, 10, stream);
    else
      CHECK(cuMemcpyHtoDAsync(scene.device, scene.data, scene.words * 4, stream));
    return;
  }
  if (cell.consumer == Consumer::stream) {  // another stream's kernel reads what is on the device
    fill(scene.device, scene.value);
    return;
  }
  if (by_kernel(memory)) {
    fill(address(scene.data), scene.value);
    return;
  }
  fill(scene.device, scene.value);
  if (ordering == Ordering::copy)
    CHECK(cuMemcpyDtoH(scene.data, scene.device, scene.words * 4));
  else
    CHECK(cuMemcpyDtoHAsync(scene.data, scene.device, scene.words * 4, stream));
}

}  // namespace

bool is_in_foreign(Ordering ordering) {
  return ordering == Ordering::in_foreign || ordering == Ordering::event_across ||
         ordering == Ordering::stream_across;
}

CUstream stream_of(Ordering ordering) {
  if (ordering == Ordering::legacy || ordering == Ordering::copy || ordering == Ordering::memset)
    return nullptr;
  if (ordering == Ordering::per_thread || ordering == Ordering::in_thread) return CU_STREAM_PER_THREAD;
  return is_in_foreign(ordering) ? foreign().stream : world->first;
}

void tell_gone(const void* data, size_t words) {
  using Gone = void(const void*, size_t);
  static auto* gone = reinterpret_cast<Gone*>(dlsym(RTLD_DEFAULT, "diogenes_simulated_gone"));
  if (gone) gone(data, words * 4);
}

void give_work(const Cell& cell, Scene& scene, CUstream stream) {
  give_use(cell, scene, stream);
  // An 'asynchronous' copy of pageable memory may have waited: there is something left to wait for.
  if (is_pageable(cell.row->memory) && !waits_by_copy(cell.row->ordering))
    world->gpu.fill(world->other, 1, 16, kBusyUs, stream);
}

namespace {

// Memory that kernels and the program share, of the cell's kind.
void* new_shared(Memory memory, size_t bytes) {
  void* data = nullptr;
  CUdeviceptr managed = 0;
  if (memory == Memory::mapped) {
    CHECK(cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
    return data;
  }
  CHECK(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
  return reinterpret_cast<void*>(managed);
}

}  // namespace

void release(const Cell& cell, Scene& scene) {
  switch (cell.row->memory) {
    case Memory::pinned:
    case Memory::mapped:
    case Memory::ordered:
      CHECK(cuMemFreeHost(scene.data));
      break;
    case Memory::managed:
      CHECK(cuMemFree(address(scene.data)));
      break;
    case Memory::registered:
      if (!scene.unregistered) CHECK(cuMemHostUnregister(scene.data));
      [[fallthrough]];
    case Memory::large:
      tell_gone(scene.data, scene.words);  // the next mapping may get the same address
      munmap(scene.data, scene.words * 4);
      break;
    case Memory::heap:
      tell_gone(scene.data, scene.words);
      free(scene.data);
      break;
    default:
      break;
  }
  scene.released = true;
}

Scene prepare(const Cell& cell, uint32_t value) {
  World& w = *world;
  Scene scene;
  scene.value = value;
  const Memory memory = cell.row->memory;
  scene.words = small(memory) ? kSmallWords : memory == Memory::large ? 96 * 1024 : 8192;
  const size_t bytes = scene.words * 4;
  void* data = nullptr;
  switch (memory) {
    case Memory::pinned:
    case Memory::ordered:
      CHECK(cuMemAllocHost(&data, bytes));
      break;
    case Memory::mapped:
    case Memory::managed:
      data = new_shared(memory, bytes);
      break;
    case Memory::registered:
    case Memory::large:
      data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == Memory::registered) CHECK(cuMemHostRegister(data, bytes, 0));
      break;
    case Memory::heap:
      data = malloc(bytes);
      break;
    case Memory::global:
      data = global_data;
      break;
    case Memory::stack:
      break;
  }
  scene.data = static_cast<uint32_t*>(data);
  const uint32_t old = cell.is_source() ? value : 7;
  if (data)
    for (size_t i = 0; i < scene.words; ++i) scene.data[i] = old;
  if (memory == Memory::ordered)
    CHECK(cuMemAllocAsync(&scene.device, bytes, stream_of(cell.row->ordering)));
  else
    scene.device = is_in_foreign(cell.row->ordering) ? foreign().device : w.device;
  if (cell.row->ordering == Ordering::linked || cell.row->ordering == Ordering::beside) {
    scene.other = static_cast<CUdeviceptr*>(new_shared(memory, kSmallWords * 4));
    memset(scene.other, 0, kSmallWords * 4);  // no address of what was there before
  }
  if (cell.row->ordering == Ordering::free_) CHECK(cuMemAlloc(&scene.scratch, 4096));
  if (is_in_foreign(cell.row->ordering)) {
    const Within there(foreign().context);
    foreign().fill(scene.device, 5, scene.words, 1);
    CHECK(cuCtxSynchronize());
  } else {
    w.gpu.fill(scene.device, 5, scene.words, 1, stream_of(cell.row->ordering));
  }
  w.gpu.fill(w.result, 3, scene.words, 1, w.second);
  CHECK(cuCtxSynchronize());
  if (cell.row->ordering == Ordering::graph) {
    CUgraph graph = nullptr;
    CHECK(cuStreamBeginCapture(w.first, CU_STREAM_CAPTURE_MODE_RELAXED));
    give_work(cell, scene, w.first);
    CHECK(cuStreamEndCapture(w.first, &graph));
    CHECK(cuGraphInstantiateWithFlags(&scene.graph, graph, 0));
    CHECK(cuGraphDestroy(graph));
  }
  if (cell.row->ordering == Ordering::nodes) {
    const CUgraph graph = graph_of_nodes(as_nodes(cell, scene));
    CHECK(cuGraphInstantiateWithFlags(&scene.graph, graph, 0));
    CHECK(cuGraphDestroy(graph));
  }
  if (cell.row->ordering == Ordering::foreign || cell.row->ordering == Ordering::foreign_busy) foreign();
  return scene;
}

uint64_t take_down(const Cell& cell, Scene& scene) {
  World& w = *world;
  CHECK(cuCtxSynchronize());
  const bool on_device = cell.consumer == Consumer::next || cell.consumer == Consumer::stream;
  if (on_device || cell.is_source()) {
    const CUdeviceptr seen = on_device ? w.result : scene.device;
    if (seen == scene.device && is_in_foreign(cell.row->ordering)) {
      const Within there(foreign().context);
      CHECK(cuCtxSynchronize());
      CHECK(cuMemcpyDtoH(w.pinned, seen, scene.words * 4));
    } else {
      CHECK(cuMemcpyDtoH(w.pinned, seen, scene.words * 4));
    }
    scene.seen = sum(w.pinned, scene.words);
  }
  if (scene.graph) CHECK(cuGraphExecDestroy(scene.graph));
  if (scene.scratch) CHECK(cuMemFree(scene.scratch));
  if (scene.other && cell.row->memory == Memory::mapped) CHECK(cuMemFreeHost(scene.other));
  if (scene.other && cell.row->memory == Memory::managed) CHECK(cuMemFree(address(scene.other)));
  if (cell.row->memory == Memory::ordered) {
    CHECK(cuMemFreeAsync(scene.device, w.first));
    CHECK(cuStreamSynchronize(w.first));
  }
  if (!scene.released && scene.data) release(cell, scene);
  return scene.seen;
}

}  // namespace litmus
