// The scene of a cell: its memory and its GPU work, made before it is played and taken down afterwards.
#pragma once
#include <functional>

#include "cell.h"
#include "world.h"

namespace litmus {

inline constexpr uint64_t kBusyUs = 300;
inline constexpr size_t kSmallWords = 8;

// Where a cell's data is, and what it found.
struct Scene {
  uint32_t* data = nullptr;
  size_t words = 0;
  CUdeviceptr device = 0, scratch = 0;  // scratch: freed by an implicit wait
  CUdeviceptr* other = nullptr;         // of the data's kind, for a kernel: where to and where from
  CUgraphExec graph = nullptr;
  uint64_t seen = 0;
  bool released = false, unregistered = false;
  uint32_t value = 0;
  std::function<void()> in_helper;  // plays this cell once more, on the helper's thread; cleared there
};

CUstream stream_of(Ordering ordering);
bool is_in_foreign(Ordering ordering);

Scene prepare(const Cell& cell, uint32_t value);
// What the GPU is given. An implicit wait in a copy of the data is in here.
void give_work(const Cell& cell, Scene& scene, CUstream stream);
// The cell's memory is given back.
void release(const Cell& cell, Scene& scene);
// Looks at what ended up on the device, too.
uint64_t take_down(const Cell& cell, Scene& scene);

// The cell, played: the work, the synchronization that is tested, the consumer (play.cc).
void play(const Cell& cell, Scene& scene);

// The adversarial driver hears of memory that is given back in a way that no driver sees.
void tell_gone(const void* data, size_t words);

}  // namespace litmus
