// transfers: plays the cells of transfers.def, each four times through its own function; prints what it saw.
//
//   transfers            all cells
//   transfers CELL...    these
//   transfers --cells    name, first line of the cell's code in this file, kind, now or later (transfers.def)
//
// What every cell needs is made and taken down in common code; a problem that is found between two cells'
// first lines is the first one's.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gpu.h"

namespace {

using example::Gpu;

constexpr size_t kWords = 256 * 1024;
constexpr size_t kBytes = kWords * 4;
constexpr int kRounds = 4;

struct Data {
  uint32_t* words;
  void set(uint32_t value) {
    for (size_t i = 0; i < kWords; ++i) words[i] = value + static_cast<uint32_t>(i);
  }
};

struct World {
  Gpu gpu;
  CUstream first = nullptr, second = nullptr;  // non-blocking
  CUevent event = nullptr;
  CUdeviceptr one = 0, other = 0, result = 0;
  Data pageable, more, pinned, also_pinned;
  CUcontext context = nullptr, second_context = nullptr;
  CUdeviceptr in_second = 0;
  int pipe[2] = {-1, -1};
  uint32_t value = 1;  // fresh() is other data every time
  uint64_t seen = 0;
  uint32_t fresh() { return value += 7919; }
};
World* world;

uint64_t sum(const Data& data) {
  uint64_t result = 0;
  for (size_t i = 0; i < kWords; i += 16) result += static_cast<const volatile uint32_t*>(data.words)[i];
  return result;
}

// The end of a round: all is done, and what the device holds has been used. No cell's.
[[gnu::noinline]] void synchronize_all() { CHECK(cuCtxSynchronize()); }
[[gnu::noinline]] void use(CUdeviceptr memory) {
  world->gpu.copy(world->result, memory, kWords, 20);
  CHECK(cuCtxSynchronize());
}

struct Cell {
  const char *name, *kind;
  void (*play)();
  int line;
};
std::vector<Cell>& cells() {
  static std::vector<Cell> all;
  return all;
}
constexpr struct {
  const char *name, *kind;
  bool later;
} kTruths[] = {
#define CELL(name, kind) {#name, kind, false},
#define LATER(name, kind) {#name, kind, true},
#include "transfers.def"
#undef CELL
#undef LATER
};
const char* kind_of(const char* name) {
  for (const auto& truth : kTruths)
    if (strcmp(truth.name, name) == 0) return truth.kind;
  return "not in the table";
}
bool is_for_later(const char* name) {
  for (const auto& truth : kTruths)
    if (strcmp(truth.name, name) == 0) return truth.later;
  return false;
}
struct Registered {
  Registered(const char* name, void (*play)(), int line) {
    cells().push_back({name, kind_of(name), play, line});
  }
};
// Not inlined, and not made one with another that has the same code.
#define PLAY(name)                                           \
  [[gnu::noinline]] void name();                             \
  const Registered registered_##name(#name, name, __LINE__); \
  void name()

PLAY(same_destination) {
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  use(world->one);
}
PLAY(same_asynchronous) {
  CHECK(cuMemcpyHtoDAsync(world->one, world->pinned.words, kBytes, world->first));
  CHECK(cuStreamSynchronize(world->first));
  use(world->one);
}
PLAY(overwritten_by_kernel) {
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  use(world->one);
  world->gpu.fill(world->one, 3, 16, 10);
}
PLAY(one_byte_changed) {
  world->pageable.words[77] += 1;
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  use(world->one);
}
PLAY(same_to_host) {
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
}
PLAY(host_written_between) {
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
  world->pageable.words[5] += 1;
}
PLAY(down_same_value) {
  world->gpu.fill(world->one, 99, kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
}
PLAY(down_set_same_value) {
  CHECK(cuMemsetD32(world->one, 98, kWords));
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
}
PLAY(down_copied_same_value) {
  CHECK(cuMemcpyDtoD(world->one, world->other, kBytes));
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
}
PLAY(down_same_value_behind) {
  world->gpu.fill(world->one, 97, kWords, 10, world->second);
  CHECK(cuEventRecord(world->event, world->second));
  CHECK(cuStreamWaitEvent(world->first, world->event, 0));
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, world->first));
  CHECK(cuStreamSynchronize(world->first));
  world->seen += sum(world->pinned);
}
PLAY(down_other_stream) {
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, world->first));
  CHECK(cuStreamSynchronize(world->first));
  world->seen += sum(world->pinned);
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, world->second));
  CHECK(cuStreamSynchronize(world->second));
  world->seen += sum(world->pinned);
}
PLAY(down_other_written) {
  world->gpu.fill(world->other, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
  use(world->other);
}
PLAY(up_other_stream) {
  CHECK(cuMemcpyHtoDAsync(world->one, world->pinned.words, kBytes, world->first));
  CHECK(cuStreamSynchronize(world->first));
  use(world->one);
  CHECK(cuMemcpyHtoDAsync(world->one, world->pinned.words, kBytes, world->second));
  CHECK(cuStreamSynchronize(world->second));
  use(world->one);
}
PLAY(two_buffers) {
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));  // as long as it changes: no problem
  CHECK(cuMemcpyHtoD(world->other, world->more.words, kBytes));
  use(world->one);
  use(world->other);
  world->more.set(world->fresh());
}
PLAY(upload_of_zeros) {
  memset(world->more.words, 0, kBytes);
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));
  use(world->one);
}
PLAY(upload_of_one_number) {
  std::fill(world->more.words, world->more.words + kWords, world->fresh());
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));
  use(world->one);
}
PLAY(upload_nearly_constant) {
  std::fill(world->more.words, world->more.words + kWords, world->fresh());
  world->more.words[kWords - 1] ^= 1u << 31;
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));
  use(world->one);
}
PLAY(upload_of_a_number) {
  world->more.words[0] = world->fresh() | 0x01020304;
  CHECK(cuMemcpyHtoD(world->one, world->more.words, 4));
  use(world->one);
}
PLAY(two_contents) {
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));
  world->more.set(world->fresh());
  CHECK(cuMemcpyHtoD(world->other, world->more.words, kBytes));
  use(world->one);
  use(world->other);
  world->more.set(world->fresh());
}
PLAY(two_contexts) {
  CHECK(cuMemcpyHtoD(world->one, world->more.words, kBytes));
  use(world->one);
  CHECK(cuCtxPushCurrent(world->second_context));
  CHECK(cuMemcpyHtoD(world->in_second, world->more.words, kBytes));
  uint32_t back[4] = {};
  CHECK(cuMemcpyDtoH(back, world->in_second, sizeof back));
  world->seen += back[0];
  CHECK(cuCtxPopCurrent(nullptr));
  world->more.set(world->fresh());
}
PLAY(down_and_up) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  use(world->one);
}
PLAY(down_and_elsewhere) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += sum(world->pageable);
  CHECK(cuMemcpyHtoD(world->other, world->pageable.words, kBytes));
  use(world->other);
}
PLAY(down_changed_up) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->pageable.words[kWords - 1] += 1;
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  use(world->one);
}
PLAY(down_copied_up) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  memcpy(world->more.words, world->pageable.words, kBytes);
  CHECK(cuMemcpyHtoD(world->other, world->more.words, kBytes));
  use(world->other);
}
PLAY(upload_overwritten) {
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  CHECK(cuMemsetD8(world->one, static_cast<unsigned char>(world->value), kBytes));
  use(world->one);
}
PLAY(upload_released) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes + world->fresh() % 64 * 4096));
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(memory, world->pageable.words, kBytes));
  CHECK(cuMemFree(memory));
}
PLAY(upload_before_kernel) {
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  world->gpu.copy(world->result, world->one, kWords, 10);
  CHECK(cuMemsetD8(world->one, static_cast<unsigned char>(world->value), kBytes));
  use(world->one);
}
PLAY(upload_read_back) {
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  uint32_t back[4] = {};
  CHECK(cuMemcpyDtoH(back, world->one + 64, sizeof back));
  world->seen += back[0];
  CHECK(cuMemsetD8(world->one, static_cast<unsigned char>(world->value), kBytes));
  use(world->one);
}
PLAY(upload_in_pieces) {
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(world->one, world->pageable.words, kBytes));
  CHECK(cuMemsetD8(world->one, static_cast<unsigned char>(world->value), kBytes - 4096));
  use(world->one);
}
PLAY(upload_read_elsewhere) {
  world->pinned.set(world->fresh());
  CHECK(cuMemcpyHtoDAsync(world->one, world->pinned.words, kBytes, world->first));
  CHECK(cuMemsetD8Async(world->one, static_cast<unsigned char>(world->value), kBytes, world->first));
  world->gpu.copy(world->result, world->one, 1, 10, world->second);
  synchronize_all();
}
PLAY(upload_released_launched) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes + world->fresh() % 64 * 4096));
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoD(memory, world->pageable.words, kBytes));
  world->gpu.copy(world->result, memory, kWords, 10);
  synchronize_all();
  CHECK(cuMemFree(memory));
}
PLAY(download_overwritten) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->more.words, world->one, kBytes));
}
PLAY(download_released) {
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kBytes + world->fresh() % 64 * 4096));
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(memory, world->one, kBytes));
  CHECK(cuMemFreeHost(memory));
}
PLAY(download_asynchronous) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, nullptr));
  synchronize_all();
}
PLAY(download_async_released) {
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kBytes + world->fresh() % 64 * 4096));
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoHAsync(memory, world->one, kBytes, nullptr));
  synchronize_all();
  CHECK(cuMemFreeHost(memory));
}
PLAY(download_async_read) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, nullptr));
  synchronize_all();
  world->seen += world->pinned.words[kWords / 2];
}
PLAY(download_read) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  world->seen += world->pageable.words[kWords / 2];
}
PLAY(download_read_early) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, world->one, kBytes, nullptr));
  while (cuStreamQuery(nullptr) != CUDA_SUCCESS) usleep(50);
  world->seen += world->pinned.words[kWords / 2];
  synchronize_all();
}
PLAY(download_written) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  char back[64];
  if (write(world->pipe[1], world->pageable.words, 64) != 64 || read(world->pipe[0], back, 64) != 64)
    perror("pipe");
  world->seen += static_cast<unsigned char>(back[0]);
}
PLAY(download_sent_on) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoH(world->pageable.words, world->one, kBytes));
  CHECK(cuMemcpyHtoD(world->other, world->pageable.words + 1024, kBytes / 2));
  use(world->other);
}
PLAY(pageable_upload) {
  world->pageable.set(world->fresh());
  CHECK(cuMemcpyHtoDAsync(world->one, world->pageable.words, kBytes, world->first));
  synchronize_all();
  use(world->one);
}
PLAY(pinned_upload) {
  world->pinned.set(world->fresh());
  CHECK(cuMemcpyHtoDAsync(world->one, world->pinned.words, kBytes, world->first));
  synchronize_all();
  use(world->one);
}
PLAY(pageable_download) {
  world->gpu.fill(world->one, world->fresh(), kWords, 10, world->first);
  CHECK(cuMemcpyDtoHAsync(world->pageable.words, world->one, kBytes, world->first));
  world->seen += sum(world->pageable);
}
PLAY(allocation_repeated) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  world->gpu.fill(memory, world->fresh(), kWords, 10);
  CHECK(cuMemcpyDtoHAsync(world->pinned.words, memory, kBytes, nullptr));
  CHECK(cuMemFree(memory));  // its wait is needed: the next line reads what it waited for
  world->seen += sum(world->pinned);
}
PLAY(allocation_sizes) {
  static size_t more = 0;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes + ++more * 8192));
  world->gpu.fill(memory, world->fresh(), kWords, 10);
  synchronize_all();
  CHECK(cuMemFree(memory));
}
PLAY(allocation_unused) {
  static size_t more = 0;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 2 * kBytes + ++more * 8192));
  world->gpu.fill(world->one, world->fresh(), kWords, 10);
  synchronize_all();
  CHECK(cuMemFree(memory));
}
PLAY(allocation_given) {
  static size_t more = 0;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 3 * kBytes + ++more * 8192));
  world->gpu.fill(memory, world->fresh(), 16, 10);
  synchronize_all();
  CHECK(cuMemFree(memory));
}
const int kBehindTheCells = __LINE__;

Data large() { return {static_cast<uint32_t*>(aligned_alloc(4096, kBytes))}; }
Data pinned() {
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kBytes));
  return {static_cast<uint32_t*>(memory)};
}

void prepare() {
  world = new World;
  World& w = *world;
  CHECK(cuStreamCreate(&w.first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&w.second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&w.event, CU_EVENT_DISABLE_TIMING));
  for (CUdeviceptr* memory : {&w.one, &w.other, &w.result}) CHECK(cuMemAlloc(memory, kBytes));
  w.pageable = large();
  w.more = large();
  w.pinned = pinned();
  w.also_pinned = pinned();
  if (pipe(w.pipe) != 0) perror("pipe");
  CHECK(cuCtxGetCurrent(&w.context));
  CHECK(cuCtxCreate(&w.second_context, 0, 0));
  CHECK(cuMemAlloc(&w.in_second, kBytes));
  CHECK(cuCtxPopCurrent(nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--cells") == 0) {
    for (const Cell& cell : cells())
      printf("%s %d %s %s\n", cell.name, cell.line, *cell.kind ? cell.kind : "none",
             is_for_later(cell.name) ? "later" : "now");
    printf("end %d none now\n", kBehindTheCells);
    return 0;
  }
  prepare();
  for (const Cell& cell : cells()) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a) wanted |= strcmp(argv[a], cell.name) == 0;
    if (!wanted) continue;
    for (Data* data : {&world->pageable, &world->more, &world->pinned}) data->set(world->fresh());
    world->gpu.fill(world->one, world->fresh(), kWords, 10);
    world->gpu.fill(world->other, world->fresh(), kWords, 10);
    CHECK(cuCtxSynchronize());
    world->seen = 0;
    for (int round = 0; round < kRounds; ++round) {
      cell.play();
      CHECK(cuCtxSynchronize());
    }
    printf("%s %llu\n", cell.name, static_cast<unsigned long long>(world->seen));
  }
  return 0;
}
