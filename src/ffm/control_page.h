// Whether a program that runs is recorded just now: a page of a file beside the plan, which the launcher writes and the agents of
// all processes of a run read. Where there is no such file, all of the run is recorded. Numbers alone, no pointers: each side
// maps it at another address.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace diogenes {

inline constexpr const char* kControlFile = "control";  // in the stage's folder
inline constexpr uint64_t kControlMagic = 0x0031'4c52'5443'4f49;
// Whoever opened a window says this often that it still wants it; who does not for so long is gone.
inline constexpr int64_t kWindowLease = 1'000'000'000;  // ns

struct ControlPage {
  uint64_t magic = kControlMagic;
  // A window is open until then (CLOCK_MONOTONIC, ns), or longer if it is put off; 0: none is.
  std::atomic<int64_t> until_ns{0};
  std::atomic<uint32_t> recording{
      0};                          // processes that began to record in a window and have not ended that yet
  std::atomic<int32_t> holder{0};  // process id of who opened the window; 0: none is open
  std::atomic<uint32_t> stops{0};  // how often somebody asked for its end
  uint32_t reserved = 0;
};
static_assert(std::atomic<int64_t>::is_always_lock_free && sizeof(ControlPage) == 32);

// How often a process called each function of the driver, recorded or not, in a file of its folder: a cache line a function, by
// its number in the catalogue. Threads that call one function at the same time lose some.
inline constexpr const char* kCallsFile = "calls";
inline constexpr size_t kMostCounted = 1024;  // functions
struct alignas(64) CallCount {
  uint64_t calls;
};

}  // namespace diogenes
