// What all named scenes share (scenes.def): the tested call's frame, device memory, streams, kernels, and
// memory that lives as long as a scene. In: scenes.def. Source: the driver API alone; the same program runs
// on a real driver and on the simulated one.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "gpu.h"

namespace scenes {

enum class Scene : int {
#define SCENE(name, truth, function, reason) name,
#include "scenes.def"
#undef SCENE
};

#define SCENE(name, truth, function, reason) uint64_t name(uint32_t value);
#include "scenes.def"
#undef SCENE

// The tested call goes through a frame of its own, so that its call site is known: [call, call +
// kFrameBytes).
inline constexpr size_t kFrameBytes = 64;
template <Scene scene, typename Function>
struct Tested;
template <Scene scene, typename Result, typename... Arguments>
struct Tested<scene, Result(Arguments...)> {
  [[gnu::noinline, gnu::aligned(kFrameBytes)]] static Result call(Result (*function)(Arguments...),
                                                                  Arguments... arguments) {
    const Result result = function(arguments...);
    asm volatile("" ::"i"(scene) : "memory");  // no tail call, and no two alike
    return result;
  }
};
#define TESTED(scene, function, ...) \
  CHECK((Tested<Scene::scene, decltype(function)>::call(function __VA_OPT__(, ) __VA_ARGS__)))

inline constexpr size_t kWords = 8192, kBytes = kWords * 4, kSmallWords = 8;
inline constexpr uint64_t kBusyUs = 500;
inline constexpr int kLateUs = 1000;

struct Shared {
  example::Gpu gpu;  // in the primary context
  CUcontext context = nullptr;
  CUdeviceptr device = 0, other = 0, result = 0;  // 1 MiB each
  CUstream first = nullptr, second = nullptr;     // non-blocking
  CUevent event = nullptr, start = nullptr, end = nullptr;
  CUfunction spin_until = nullptr, copy_as_told = nullptr, fill = nullptr;
  uint32_t* back = nullptr;           // pinned, for what is on the device
  volatile uint64_t* flag = nullptr;  // mapped; a fresh one, 0, in each round
  Shared();
  CUdeviceptr flag_address() const { return reinterpret_cast<CUdeviceptr>(flag); }
  void spin(CUstream stream) const;  // until the flag is not 0
  void copy_by_table(CUdeviceptr table, size_t words, CUstream stream) const;
};
extern Shared* shared;

// Can every scene be played here? Else those of managed memory are left out: a CPU access to it while the GPU
// works would be the end of the program.
bool has_concurrent_managed();

// The start and the end of a round: all is done, and device memory holds what it always does (5 and 3).
void begin();
void finish();
uint64_t sum(const uint32_t* data, size_t words);
uint64_t device_sum(CUdeviceptr data, size_t words);  // all is done
void set(uint32_t* data, size_t words, uint32_t value);
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// The adversarial driver hears of memory that is released in a way that no driver sees.
void tell_gone(const void* data, size_t bytes);

// Memory of a scene, 7 in each word.
struct Pinned {
  uint32_t* words = nullptr;
  explicit Pinned(unsigned flags = 0);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};
struct Managed {
  uint32_t* words = nullptr;
  Managed();
  ~Managed();
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
};
// Pages of the program's own; registered until the end of the scene, if ever.
struct Mapped {
  uint32_t* words = nullptr;
  size_t bytes = 0;
  bool registered = false;
  // flags: instead of MAP_PRIVATE; at: there, if nothing else is.
  explicit Mapped(size_t bytes = kBytes, int flags = 0, void* at = nullptr);
  ~Mapped();
  void add_registration(unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP);
  void end_registration();
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
};

// Writes the value on the device, after kBusyUs, and copies it to the host.
void download(uint32_t* to, uint32_t value, CUstream stream);

}  // namespace scenes
