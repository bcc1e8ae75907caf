// litmus: plays the cells of cells.def. Each has call sites of its own: a cell is played through its own
// frame.
//
//   litmus                        all cells, four times each; a line each: name and what the program saw
//   litmus CELL...                these (pinned-context-same)
//   litmus --host-functions       those with a host function only; --no-host-functions: all others
//   litmus --machine              what the device can do, name and number
//   litmus --cells                name, truth, reason, tested function and the offset of its frame's code
//
// A cell is: the GPU works for 300 us and then writes a pattern to the memory, or reads it; the
// synchronization that is tested; the consumer. What is prepared and taken down again is not played through
// the cell's frame.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "scene.h"

namespace {

using namespace litmus;

// On a busy machine the GPU may be done before this program gets to its wait, which then is none: but not in
// every round.
constexpr int kRounds = 4;

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
  const std::vector<Cell> cells = all_cells();
  if (argc > 1 && strcmp(argv[1], "--cells") == 0) {
    for (size_t i = 0; i < cells.size(); ++i)
      if (cells[i].truth() != '.')
        printf("%s %c %s %s %#zx\n", cells[i].name().c_str(), cells[i].truth(),
               cells[i].row->reason[0] ? cells[i].row->reason : "-", cells[i].function(),
               reinterpret_cast<size_t>(kFrames[i]) - reinterpret_cast<size_t>(&__executable_start));
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "--machine") == 0) return show_machine();
  world = new World;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name = cells[i].name();
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a) wanted |= is_wanted(cells[i], name, argv[a]);
    if (!wanted || cells[i].truth() == '.' || !is_playable(cells[i])) continue;
    printf("%s", name.c_str());
    for (int round = 0; round < kRounds; ++round) {
      Scene scene = prepare(cells[i], static_cast<uint32_t>(1000 + i * 16 + static_cast<size_t>(round)));
      scene.in_helper = [&] { kFrames[i](cells[i], scene); };
      kFrames[i](cells[i], scene);
      printf(" %lu", static_cast<unsigned long>(take_down(cells[i], scene)));
    }
    printf("\n");
  }
  return 0;
}
