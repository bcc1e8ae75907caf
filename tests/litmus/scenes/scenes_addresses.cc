// Scenes with addresses that the GPU is told in other ways than by a launch's arguments.
#include <functional>

#include "shared.h"

namespace scenes {
namespace {

using Action = std::function<void()>;
using GraphMaker = CUgraph (*)(uint32_t* to, uint32_t value);

// A graph that writes to memory which is registered only when it has been made.
uint64_t play_graph(uint32_t value, GraphMaker make, const Action& wait) {
  Shared& s = *shared;
  Mapped memory;
  const CUgraph graph = make(memory.words, value);
  CUgraphExec executable = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  CHECK(cuGraphDestroy(graph));
  memory.add_registration();
  CHECK(cuGraphLaunch(executable, s.first));
  wait();
  const uint64_t seen = sum(memory.words, kWords);
  finish();
  CHECK(cuGraphExecDestroy(executable));
  return seen;
}

CUgraph captured(uint32_t* to, uint32_t value) {
  Shared& s = *shared;
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(s.first, CU_STREAM_CAPTURE_MODE_RELAXED));
  s.gpu.fill(address(to), value, kWords, kBusyUs, s.first);
  CHECK(cuStreamEndCapture(s.first, &graph));
  return graph;
}

CUgraph node_by_node(uint32_t* to, uint32_t value) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CUdeviceptr written = address(to);
  uint64_t words = kWords, ns = kBusyUs * 1000;
  void* parameters[] = {&written, &value, &words, &ns};
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  kernel.func = shared->fill;
  kernel.gridDimX = 32, kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 256, kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  return graph;
}

// Where to, and where from.
struct Table {
  CUdeviceptr sides[2];
  explicit Table(const Mapped& to) : sides{address(to.words), shared->device} {}
  explicit Table(const Pinned& to) : sides{address(to.words), shared->device} {}
};

// No scene had memory there that was registered.
void* new_place() {
  static uintptr_t next = 0x6000'0000'0000;
  constexpr uintptr_t kApart = 1 << 30;
  return reinterpret_cast<void*>(next += kApart);
}

// The table is made, the memory is registered, and the kernel looks it up.
uint64_t play_table(uint32_t value, const std::function<CUdeviceptr(const Table&)>& make, const Action& wait,
                    unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP) {
  Shared& s = *shared;
  Mapped memory(kBytes, 0, new_place());
  const CUdeviceptr table = make(Table(memory));
  memory.add_registration(flags);
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  s.copy_by_table(table, kWords, s.first);
  wait();
  const uint64_t seen = sum(memory.words, kWords);
  finish();
  return seen;
}

// The same with pinned memory, which no kernel is ever given.
uint64_t play_table_of_pinned(uint32_t value, const std::function<CUdeviceptr(const Table&)>& make,
                              const Action& wait) {
  Shared& s = *shared;
  Pinned result;
  const CUdeviceptr table = make(Table(result));
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  s.copy_by_table(table, kWords, s.first);
  wait();
  const uint64_t seen = sum(result.words, kWords);
  finish();
  return seen;
}

CUdeviceptr upload_table(const Table& table) {
  CHECK(cuMemcpyHtoDAsync(shared->other, table.sides, sizeof table.sides, shared->first));
  return shared->other;
}
// With more than is searched for addresses.
CUdeviceptr upload_large_table(const Table& table) {
  uint64_t words[(64 << 10) / 8 + 2] = {table.sides[0], table.sides[1]};
  CHECK(cuMemcpyHtoD(shared->other, words, sizeof words));
  return shared->other;
}
CUdeviceptr write_table_by_stream(const Table& table) {
  for (size_t i = 0; i < 2; ++i)
    CHECK(cuStreamWriteValue64(shared->first, shared->other + i * 8, table.sides[i], 0));
  return shared->other;
}
CUdeviceptr fill_table(const Table& table) {
  for (size_t half = 0; half < 4; ++half) {
    const auto bits = static_cast<uint32_t>(table.sides[half / 2] >> (half % 2 * 32));
    CHECK(cuMemsetD32Async(shared->other + half * 4, bits, 1, shared->first));
  }
  return shared->other;
}

// Half by half.
CUdeviceptr upload_halves(const Table& table) {
  for (size_t i = 0; i < 4; ++i)
    CHECK(cuMemcpyHtoD(shared->other + i * 4, reinterpret_cast<const char*>(table.sides) + i * 4, 4));
  return shared->other;
}

CUdeviceptr write_table(void* to, const Table& table) {
  auto* const sides = static_cast<volatile CUdeviceptr*>(to);
  sides[0] = table.sides[0];
  sides[1] = table.sides[1];
  return address(to);
}

}  // namespace

uint64_t graph_registered_later(uint32_t value) {
  return play_graph(value, captured,
                    [] { TESTED(graph_registered_later, cuStreamSynchronize, shared->first); });
}
uint64_t nodes_registered_later(uint32_t value) {
  return play_graph(value, node_by_node,
                    [] { TESTED(nodes_registered_later, cuStreamSynchronize, shared->first); });
}

uint64_t table_mapped_later(uint32_t value) {
  Pinned mapped(CU_MEMHOSTALLOC_DEVICEMAP);
  return play_table(
      value, [&](const Table& table) { return write_table(mapped.words, table); },
      [] { TESTED(table_mapped_later, cuStreamSynchronize, shared->first); });
}
uint64_t table_managed_later(uint32_t value) {
  Managed managed;
  return play_table(
      value, [&](const Table& table) { return write_table(managed.words, table); },
      [] { TESTED(table_managed_later, cuStreamSynchronize, shared->first); });
}
uint64_t table_uploaded_later(uint32_t value) {
  return play_table(value, upload_table,
                    [] { TESTED(table_uploaded_later, cuStreamSynchronize, shared->first); });
}
uint64_t table_written_by_stream(uint32_t value) {
  return play_table(value, write_table_by_stream,
                    [] { TESTED(table_written_by_stream, cuStreamSynchronize, shared->first); });
}
uint64_t table_filled(uint32_t value) {
  return play_table(value, fill_table, [] { TESTED(table_filled, cuStreamSynchronize, shared->first); });
}

// As memory for copies alone.
uint64_t table_uploaded_plain_later(uint32_t value) {
  return play_table(
      value, upload_table, [] { TESTED(table_uploaded_plain_later, cuStreamSynchronize, shared->first); }, 0);
}
uint64_t table_written_plain_later(uint32_t value) {
  return play_table(
      value, write_table_by_stream,
      [] { TESTED(table_written_plain_later, cuStreamSynchronize, shared->first); }, 0);
}

uint64_t table_halves_plain_later(uint32_t value) {
  return play_table(
      value, upload_halves, [] { TESTED(table_halves_plain_later, cuStreamSynchronize, shared->first); }, 0);
}

uint64_t pinned_by_upload(uint32_t value) {
  return play_table_of_pinned(value, upload_table,
                              [] { TESTED(pinned_by_upload, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_large_upload(uint32_t value) {
  return play_table_of_pinned(value, upload_large_table,
                              [] { TESTED(pinned_by_large_upload, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_stream(uint32_t value) {
  return play_table_of_pinned(value, write_table_by_stream,
                              [] { TESTED(pinned_by_stream, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_fill(uint32_t value) {
  return play_table_of_pinned(value, fill_table,
                              [] { TESTED(pinned_by_fill, cuStreamSynchronize, shared->first); });
}
// The copy of the table is in a graph.
uint64_t pinned_by_graph(uint32_t value) {
  Pinned source;
  const CUstream stream = shared->first;
  const auto upload = [&](const Table& table) {
    write_table(source.words, table);
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemcpyHtoDAsync(shared->other, source.words, sizeof table.sides, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuGraphExecDestroy(executable));
    return shared->other;
  };
  return play_table_of_pinned(value, upload,
                              [] { TESTED(pinned_by_graph, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_halves(uint32_t value) {
  return play_table_of_pinned(value, upload_halves,
                              [] { TESTED(pinned_by_halves, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_mapped(uint32_t value) {
  Pinned mapped(CU_MEMHOSTALLOC_DEVICEMAP);
  return play_table_of_pinned(
      value, [&](const Table& table) { return write_table(mapped.words, table); },
      [] { TESTED(pinned_by_mapped, cuStreamSynchronize, shared->first); });
}
uint64_t pinned_by_managed(uint32_t value) {
  Managed managed;
  return play_table_of_pinned(
      value, [&](const Table& table) { return write_table(managed.words, table); },
      [] { TESTED(pinned_by_managed, cuStreamSynchronize, shared->first); });
}
// A table in memory that seems to be for copies alone, too.
uint64_t pinned_by_pinned(uint32_t value) {
  Pinned other;
  return play_table_of_pinned(
      value, [&](const Table& table) { return write_table(other.words, table); },
      [] { TESTED(pinned_by_pinned, cuStreamSynchronize, shared->first); });
}

}  // namespace scenes
