// A random program, made from its seed: operations on buffers of every kind, on four streams and up to four
// threads, with every synchronization that makes it right, and some that do not matter. What comes out of it
// does not depend on when the GPU does its work. The generator keeps the order of everything that it made,
// and so knows which synchronizations were needed; it shares no code with the tool.
//
// Needed is what the design says (a range belongs to the latest synchronization that covers the work which
// wrote it, until it is used). A wait is `unsure` where that does not decide: behind it a query succeeded,
// too; or one that is not documented, is implicit or is another thread's covers the same work; or it is the
// wait in the end of a registration or of pinned memory, whose reach is not documented; or a rule of the
// design counts that knows less than the generator: a kernel that is given memory which the host reaches may
// reach all such memory, and it, a host function, and what is behind them may wait for the CPU.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

namespace random_program {

inline constexpr int kOperations = 64;  // of one program, at most
inline constexpr int kStreams = 4;      // legacy default, two non-blocking, one blocking
inline constexpr int kEvents = 2;
inline constexpr int kThreads = 4;  // the program's first one among them
inline constexpr int kNodes = 3;    // of a graph, at most
inline constexpr int kHows = 7;     // ways to tell another thread to go on (tests/litmus/scenes/hand_over.h)
// Buffers of the device: three for the whole program, one that comes and goes in stream order.
inline constexpr int kOrdered = 3, kDevice = 4;
enum Host {
  kPinnedA = kDevice,
  kPinnedB,
  kRegistered,
  kPageable,  // 4 pages
  kLarge,     // pageable, too large for the driver to stage in passing
  kHeap,      // small ones: 4 to 64 bytes, as each program has it
  kStack,
  kGlobal,
  kManaged,
  kMapped,
  kCell,  // what host functions write; of the CPU alone
  kBuffers
};

enum class Kind : uint8_t {
  fill,            // kernel: to
  copy,            // kernel: to, from
  upload,          // asynchronous: to (device), from (host)
  download,        // asynchronous: to (host), from (device)
  upload_now,      // blocking, legacy default stream
  download_now,    // "
  set,             // asynchronous fill: to
  set_now,         // blocking fill of memory that the host reaches, legacy default stream: to
  read,            // by the CPU: from
  write,           // "         to
  call,            // by a system call: from
  context,         // cuCtxSynchronize
  stream,          // cuStreamSynchronize
  record,          // event
  event,           // cuEventSynchronize
  query_event,     // until it is there
  query_stream,    // "
  wait_event,      // stream waits for event
  graph,           // captured here, and launched: nodes
  host_function,   // reads from, writes to (kCell)
  alloc_ordered,   // cuMemAllocAsync of kOrdered
  free_ordered,    // cuMemFreeAsync of it
  free_other,      // cuMemFree of memory that nobody uses
  free_again,      // cuMemFree of a device buffer that may be in use, and another in its place: to
  pinned_again,    // the same with cuMemFreeHost
  register_again,  // cuMemHostUnregister, and registered again
  // In programs with hand-overs only:
  lend,     // another thread is told to read (from) or write (to) a buffer: how
  take_in,  // until that thread has done so
  poll,     // a kernel polls a flag of the program's: stream
  open,     // that flag is set
  count
};

struct Node {
  Kind kind;
  int to = -1, from = -1;
};

struct Operation {
  Kind kind;
  int stream = 0, event = 0, to = -1, from = -1;
  int thread = 0;
  uint32_t value = 0, busy_us = 0;
  int how = 0;
  std::array<Node, kNodes> nodes{};
  int node_count = 0;
  // Of what waits: was it needed, by what follows? `guess`: or may it have been, as far as this generator
  // knows.
  bool waits = false, needed = false, guess = false;
};

struct Program {
  std::vector<Operation> operations;
  std::array<uint32_t, 3> small_bytes{};  // kHeap, kStack, kGlobal
};

// One program of ten has host functions: has_host_functions(seed).
bool has_host_functions(uint64_t seed);
// Variety::hand_over: with buffers that are lent to a thread of its own, which reads or writes them while the
// program goes on elsewhere, and may do so at once or when the program waits for it; and with work that is
// given before a wait and let go behind it. Such programs have no host functions. A wait is `unsure` where
// several could be the one that such a use relies on.
// `again`: in which device and pinned memory is often released and allocated again, by one call for each buffer.
enum class Variety : uint8_t { usual, hand_over, again };
Program generate(uint64_t seed, Variety variety = Variety::usual);

}  // namespace random_program
