// A random program, made from its seed: operations on buffers of every kind, on four streams and two threads,
// with every synchronization that makes it right, and some that do not matter. What comes out of it does not
// depend on when the GPU does its work. The generator keeps the order of everything that it made, and so
// knows which synchronizations were needed; it shares no code with the tool.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

namespace random_program {

inline constexpr int kOperations = 64;  // of one program, at most
inline constexpr int kStreams = 4;      // legacy default, two non-blocking, one blocking
inline constexpr int kEvents = 2;
inline constexpr int kDevice = 3;  // device buffers: 0 to 2
enum Host { kPinnedA = kDevice, kPinnedB, kRegistered, kPageable, kSmall, kManaged, kMapped, kBuffers };

enum class Kind : uint8_t {
  fill,           // kernel: to
  copy,           // kernel: to, from
  upload,         // asynchronous: to (device), from (host)
  download,       // asynchronous: to (host), from (device)
  upload_now,     // blocking, legacy default stream
  download_now,   // "
  set,            // asynchronous fill: to
  read,           // by the CPU: from
  write,          // "         to
  call,           // by a system call: from
  context,        // cuCtxSynchronize
  stream,         // cuStreamSynchronize
  record,         // event
  event,          // cuEventSynchronize
  wait_event,     // stream waits for event
  free_other,     // cuMemFree of memory that nobody uses
  register_again  // cuMemHostUnregister, and registered again
};

struct Operation {
  Kind kind;
  int stream = 0, event = 0, to = -1, from = -1;
  bool other_thread = false;
  uint32_t value = 0, busy_us = 0;
  // Of what waits: was it needed, by what follows? `guess`: or may it have been, as far as this generator
  // knows.
  bool waits = false, needed = false, guess = false;
};

std::vector<Operation> generate(uint64_t seed);

}  // namespace random_program
