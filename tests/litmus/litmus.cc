// litmus: plays the cells of cells.def. Each has call sites of its own: a cell is played through its own
// frame.
//
//   litmus                        all cells, three times each; a line each: name and what the program saw
//   litmus CELL...                these (pinned-context-same)
//   litmus --host-functions       those with a host function only; --no-host-functions: all others (after a
//   host function
//                                 the tool places no guards any more in that process)
//   litmus --machine              what the device can do, name and number
//   litmus --cells                name, truth, reason, tested function and the offset of its frame's code
//
// A cell is: the GPU works for 300 us and then writes a pattern to the memory, or reads it; the
// synchronization that is tested; the consumer. What is prepared and taken down again is not played through
// the cell's frame.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu.h"
#include "nodes.h"

namespace {

using example::Gpu;

enum class Memory { pinned, registered, large, heap, stack, global, managed, mapped, ordered };
enum class Ordering {
  context,
  stream,
  event,
  copy,           // implicit in a blocking copy of the data itself
  async_copy,     // ... in an 'asynchronous' one to pageable memory
  free_,          // ... in the free of other device memory
  memset,         // ... in a fill of other pinned memory
  unregister,     // ... in the end of the memory's registration
  legacy,         // work on the legacy default stream, and a wait for it
  per_thread,     // ... on the calling thread's default stream
  two_streams,    // a second stream waits for the first's event, and the program for the second
  two_waits,      // tested: the first of two waits in a row
  unrelated,      // tested: a wait for another stream, before the one that counts
  graph,          // the work is a captured graph
  nodes,          // the work is a graph that was built node by node
  apart,          // a kernel on other memory is started in another stream behind the wait
  query,          // tested: a wait behind queries, the last of which said that all is done
  foreign,        // tested: a wait for another context, before the one that counts
  host_function,  // a host function follows the work
};
enum class Consumer { same, late, other, call, next, reuse, stream, free_, none, source, count };

constexpr const char* kConsumers[] = {"same",  "late",   "other", "call", "next",
                                      "reuse", "stream", "free",  "none", "source"};

struct Row {
  const char *memory_name, *ordering_name;
  Memory memory;
  Ordering ordering;
  const char *truths, *reason;
};
#define ROW(memory, ordering, truths, reason) \
  {#memory, #ordering, Memory::memory, Ordering::ordering, truths, reason},
constexpr Row kRows[] = {
#include "cells.def"
};
#undef ROW
constexpr size_t kRowCount = sizeof kRows / sizeof kRows[0];
constexpr size_t kConsumerCount = static_cast<size_t>(Consumer::count);
constexpr size_t kCells = kRowCount * kConsumerCount;

constexpr uint64_t kBusyUs = 300;
constexpr int kRounds = 3, kLateUs = 1000;

// Another thread, there from the start, that looks at memory when it is asked to.
class Reader {
 public:
  uint64_t read(const uint32_t* data, size_t count) {
    data_ = data;
    count_ = count;
    asked_.release();
    answered_.acquire();
    return sum_;
  }
  void start() {
    std::thread([this] {
      for (;;) {
        asked_.acquire();
        sum_ = 0;
        for (size_t i = 0; i < count_; ++i) sum_ += data_[i];
        answered_.release();
      }
    }).detach();
  }

 private:
  std::binary_semaphore asked_{0}, answered_{0};
  const uint32_t* data_ = nullptr;
  size_t count_ = 0;
  uint64_t sum_ = 0;
};

struct World {
  Gpu gpu;
  CUdeviceptr device = 0, other = 0, result = 0;
  CUstream first = nullptr, second = nullptr;  // non-blocking
  CUevent event = nullptr, between = nullptr;
  uint32_t* pinned = nullptr;  // for results and fills
  int pipe[2] = {-1, -1};
  Reader reader;
  CUcontext context = nullptr, foreign = nullptr;
};
World* world;

struct Cell {
  const Row* row;
  Consumer consumer;
  std::string name() const {
    std::string result = std::string(row->memory_name) + "-" + row->ordering_name + "-" +
                         kConsumers[static_cast<size_t>(consumer)];
    std::erase(result, '_');
    return result;
  }
  char truth() const { return row->truths[2 * static_cast<size_t>(consumer)]; }
};

// Where a cell's data is, and what it found.
struct Scene {
  uint32_t* data = nullptr;
  size_t words = 0;
  CUdeviceptr device = 0, scratch = 0;  // scratch: freed by an implicit wait
  CUgraphExec graph = nullptr;
  uint64_t seen = 0;
  bool released = false, unregistered = false;
  uint32_t value = 0;
};

constexpr size_t kSmallWords = 8;
alignas(64) uint32_t global_data[kSmallWords];

uint64_t sum(const uint32_t* data, size_t count) {
  uint64_t result = 0;
  for (size_t i = 0; i < count; ++i) result += static_cast<const volatile uint32_t*>(data)[i];
  return result;
}

// The adversarial driver hears of memory that is given back in a way that no driver sees.
void tell_gone(const void* data, size_t words) {
  using Gone = void(const void*, size_t);
  static auto* gone = reinterpret_cast<Gone*>(dlsym(RTLD_DEFAULT, "diogenes_simulated_gone"));
  if (gone) gone(data, words * 4);
}

void host_function(void*) {}

bool by_kernel(Memory memory) { return memory == Memory::managed || memory == Memory::mapped; }
bool small(Memory memory) {
  return memory == Memory::heap || memory == Memory::stack || memory == Memory::global;
}

bool is_source(Consumer consumer) { return consumer == Consumer::reuse || consumer == Consumer::source; }

CUstream stream_of(Ordering ordering) {
  if (ordering == Ordering::legacy || ordering == Ordering::copy || ordering == Ordering::memset)
    return nullptr;
  if (ordering == Ordering::per_thread) return CU_STREAM_PER_THREAD;
  return world->first;
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// What the GPU is given. `copy_is_tested`: the copy to the host is the tested call itself.
void give_work(const Cell& cell, Scene& scene, CUstream stream) {
  World& w = *world;
  const Memory memory = cell.row->memory;
  if (is_source(cell.consumer)) {  // the GPU reads the memory
    w.gpu.fill(scene.device, 0, scene.words, kBusyUs, stream);
    if (by_kernel(memory))
      w.gpu.copy(scene.device, address(scene.data), scene.words, 10, stream);
    else
      CHECK(cuMemcpyHtoDAsync(scene.device, scene.data, scene.words * 4, stream));
    return;
  }
  if (cell.consumer == Consumer::stream) {  // another stream's kernel reads what is on the device
    w.gpu.fill(scene.device, scene.value, scene.words, kBusyUs, stream);
    return;
  }
  if (by_kernel(memory)) {
    w.gpu.fill(address(scene.data), scene.value, scene.words, kBusyUs, stream);
    return;
  }
  w.gpu.fill(scene.device, scene.value, scene.words, kBusyUs, stream);
  if (cell.row->ordering == Ordering::copy)
    CHECK(cuMemcpyDtoH(scene.data, scene.device, scene.words * 4));
  else
    CHECK(cuMemcpyDtoHAsync(scene.data, scene.device, scene.words * 4, stream));
}

// Beside the primary one, which all else is done in. Made at its first use.
CUcontext foreign_context() {
  if (world->foreign) return world->foreign;
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&world->foreign, 0, device));
  CHECK(cuCtxPopCurrent(nullptr));
  return world->foreign;
}

void synchronize(const Cell& cell, Scene& scene, CUstream stream) {
  World& w = *world;
  switch (cell.row->ordering) {
    case Ordering::context:
      CHECK(cuCtxSynchronize());
      break;
    case Ordering::stream:
    case Ordering::legacy:
    case Ordering::per_thread:
    case Ordering::graph:
    case Ordering::nodes:
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::apart:
      CHECK(cuStreamSynchronize(stream));
      w.gpu.fill(w.other, 1, 16, 100, w.second);
      break;
    case Ordering::query:
      while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) usleep(20);
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::foreign:
      CHECK(cuCtxPushCurrent(foreign_context()));
      CHECK(cuCtxSynchronize());
      CHECK(cuCtxPopCurrent(nullptr));
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::host_function:
      CHECK(cuLaunchHostFunc(stream, host_function, nullptr));
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::event:
      CHECK(cuEventRecord(w.event, stream));
      CHECK(cuEventSynchronize(w.event));
      break;
    case Ordering::copy:
    case Ordering::async_copy:
      break;
    case Ordering::free_:
      CHECK(cuMemFree(scene.scratch));
      scene.scratch = 0;
      break;
    case Ordering::memset:
      CHECK(cuMemsetD8(address(w.pinned), 0, 4096));
      break;
    case Ordering::unregister:
      CHECK(cuMemHostUnregister(scene.data));
      scene.unregistered = true;
      break;
    case Ordering::two_streams:
      CHECK(cuEventRecord(w.between, stream));
      CHECK(cuStreamWaitEvent(w.second, w.between, 0));
      CHECK(cuStreamSynchronize(w.second));
      break;
    case Ordering::two_waits:
      CHECK(cuStreamSynchronize(stream));
      CHECK(cuCtxSynchronize());
      break;
    case Ordering::unrelated:
      w.gpu.fill(w.other, 1, 16, 100, w.second);
      CHECK(cuStreamSynchronize(w.second));
      CHECK(cuCtxSynchronize());
      break;
  }
}

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
      munmap(scene.data, scene.words * 4);
      break;
    case Memory::large:
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

void consume(const Cell& cell, Scene& scene) {
  World& w = *world;
  switch (cell.consumer) {
    case Consumer::late:
      example::host_work(kLateUs, 1);
      [[fallthrough]];
    case Consumer::same:
      scene.seen = sum(scene.data, scene.words);
      break;
    case Consumer::other:
      scene.seen = w.reader.read(scene.data, scene.words);
      break;
    case Consumer::call: {
      const size_t bytes = scene.words * 4 < 4096 ? scene.words * 4 : 4096;
      uint32_t back[1024] = {};
      if (write(w.pipe[1], scene.data, bytes) != static_cast<ssize_t>(bytes) ||
          read(w.pipe[0], back, bytes) != static_cast<ssize_t>(bytes))
        perror("pipe");
      scene.seen = sum(back, bytes / 4);
      break;
    }
    case Consumer::next:
      CHECK(cuMemcpyHtoDAsync(w.result, scene.data, scene.words * 4, w.second));
      break;
    case Consumer::reuse:
      for (size_t i = 0; i < scene.words; ++i) scene.data[i] = 0xdead;
      break;
    case Consumer::stream:
      w.gpu.copy(w.result, scene.device, scene.words, 10, w.second);
      break;
    case Consumer::free_:
    case Consumer::source:
      release(cell, scene);
      break;
    default:
      break;
  }
}

void play(const Cell& cell, Scene& scene) {
  CUstream stream = stream_of(cell.row->ordering);
  alignas(8) uint32_t on_stack[kSmallWords] = {};
  if (cell.row->memory == Memory::stack) {
    scene.data = on_stack;
    if (is_source(cell.consumer))
      for (uint32_t& word : on_stack) word = scene.value;
  }
  if (scene.graph)
    CHECK(cuGraphLaunch(scene.graph, stream));
  else
    give_work(cell, scene, stream);
  synchronize(cell, scene, stream);
  consume(cell, scene);
  if (cell.row->memory == Memory::stack) {
    tell_gone(scene.data, scene.words);
    scene.data = nullptr;
  }
}

// The same as give_work(), for a graph.
litmus::GraphWork as_nodes(const Cell& cell, const Scene& scene) {
  litmus::GraphWork work{scene.device, scene.value, scene.words, kBusyUs, 0, 0, nullptr, nullptr};
  const bool kernels = by_kernel(cell.row->memory);
  if (is_source(cell.consumer)) {
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
      CHECK(cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
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
    case Memory::managed: {
      CUdeviceptr managed = 0;
      CHECK(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
      data = reinterpret_cast<void*>(managed);
      break;
    }
    case Memory::stack:
      break;
  }
  scene.data = static_cast<uint32_t*>(data);
  const uint32_t old = is_source(cell.consumer) ? value : 7;
  if (data)
    for (size_t i = 0; i < scene.words; ++i) scene.data[i] = old;
  if (memory == Memory::ordered)
    CHECK(cuMemAllocAsync(&scene.device, bytes, stream_of(cell.row->ordering)));
  else
    scene.device = w.device;
  if (cell.row->ordering == Ordering::free_) CHECK(cuMemAlloc(&scene.scratch, 4096));
  w.gpu.fill(scene.device, 5, scene.words, 1, stream_of(cell.row->ordering));
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
    const CUgraph graph = litmus::graph_of_nodes(as_nodes(cell, scene));
    CHECK(cuGraphInstantiateWithFlags(&scene.graph, graph, 0));
    CHECK(cuGraphDestroy(graph));
  }
  if (cell.row->ordering == Ordering::foreign) foreign_context();
  return scene;
}

// Looks at what ended up on the device, too.
uint64_t take_down(const Cell& cell, Scene& scene) {
  World& w = *world;
  CHECK(cuCtxSynchronize());
  const bool on_device = cell.consumer == Consumer::next || cell.consumer == Consumer::stream;
  if (on_device || is_source(cell.consumer)) {
    CHECK(cuMemcpyDtoH(w.pinned, on_device ? w.result : scene.device, scene.words * 4));
    scene.seen = sum(w.pinned, scene.words);
  }
  if (scene.graph) CHECK(cuGraphExecDestroy(scene.graph));
  if (scene.scratch) CHECK(cuMemFree(scene.scratch));
  if (cell.row->memory == Memory::ordered) {
    CHECK(cuMemFreeAsync(scene.device, w.first));
    CHECK(cuStreamSynchronize(w.first));
  }
  if (!scene.released && scene.data) release(cell, scene);
  return scene.seen;
}

// The frame by which a cell's call sites differ from another's.
template <size_t N>
[[gnu::noinline]] void cell_frame(const Cell& cell, Scene& scene) {
  play(cell, scene);
  asm volatile("" ::"i"(N) : "memory");  // no tail call, and no two alike
}

using CellFrame = void (*)(const Cell&, Scene&);
template <size_t... N>
constexpr std::array<CellFrame, sizeof...(N)> frames_of(std::index_sequence<N...>) {
  return {cell_frame<N>...};
}
constexpr auto kFrames = frames_of(std::make_index_sequence<kCells>{});

const char* tested_function(Ordering ordering) {
  switch (ordering) {
    case Ordering::context:
    case Ordering::foreign:
      return "cuCtxSynchronize";
    case Ordering::event:
      return "cuEventSynchronize";
    case Ordering::copy:
      return "cuMemcpyDtoH";
    case Ordering::async_copy:
      return "cuMemcpyDtoHAsync";
    case Ordering::free_:
      return "cuMemFree";
    case Ordering::memset:
      return "cuMemsetD8";
    case Ordering::unregister:
      return "cuMemHostUnregister";
    default:
      return "cuStreamSynchronize";
  }
}

int attribute(CUdevice_attribute which) {
  int value = 0;
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetAttribute(&value, which, device));
  return value;
}

// On such a device a CPU access while the GPU works is the end of the program.
bool is_playable(const Cell& cell) {
  static const bool concurrent = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0;
  return cell.row->memory != Memory::managed || concurrent;
}

int show_machine() {
  int devices = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&devices));
  printf("concurrent_managed %d\npageable_memory_access %d\ndevices %d\n",
         attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
         attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), devices);
  return 0;
}

bool is_wanted(const Cell& cell, const std::string& name, const std::string& argument) {
  const bool host_function = cell.row->ordering == Ordering::host_function;
  if (argument == "--host-functions") return host_function;
  if (argument == "--no-host-functions") return !host_function;
  return name.rfind(argument, 0) == 0;
}

extern "C" char __executable_start;

}  // namespace

int main(int argc, char** argv) {
  std::vector<Cell> cells;
  for (const Row& row : kRows)
    for (size_t i = 0; i < kConsumerCount; ++i) cells.push_back({&row, static_cast<Consumer>(i)});
  if (argc > 1 && strcmp(argv[1], "--cells") == 0) {
    for (size_t i = 0; i < cells.size(); ++i)
      if (cells[i].truth() != '.')
        printf("%s %c %s %s %#zx\n", cells[i].name().c_str(), cells[i].truth(),
               cells[i].row->reason[0] ? cells[i].row->reason : "-", tested_function(cells[i].row->ordering),
               reinterpret_cast<size_t>(kFrames[i]) - reinterpret_cast<size_t>(&__executable_start));
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "--machine") == 0) return show_machine();
  world = new World;
  CHECK(cuMemAlloc(&world->device, 1 << 20));
  CHECK(cuMemAlloc(&world->other, 1 << 20));
  CHECK(cuMemAlloc(&world->result, 1 << 20));
  CHECK(cuStreamCreate(&world->first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&world->second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&world->event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&world->between, CU_EVENT_DISABLE_TIMING));
  void* pinned = nullptr;
  CHECK(cuMemAllocHost(&pinned, 1 << 20));
  world->pinned = static_cast<uint32_t*>(pinned);
  if (pipe(world->pipe) != 0) return 1;
  world->reader.start();
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name = cells[i].name();
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a) wanted |= is_wanted(cells[i], name, argv[a]);
    if (!wanted || cells[i].truth() == '.' || !is_playable(cells[i])) continue;
    printf("%s", name.c_str());
    for (int round = 0; round < kRounds; ++round) {
      Scene scene = prepare(cells[i], static_cast<uint32_t>(1000 + i * 16 + static_cast<size_t>(round)));
      kFrames[i](cells[i], scene);
      printf(" %lu", static_cast<unsigned long>(take_down(cells[i], scene)));
    }
    printf("\n");
  }
  return 0;
}
