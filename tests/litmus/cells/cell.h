// What a cell of the litmus matrix is: a row of cells.def and a consumer.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace litmus {

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
  done,           // tested: a wait for a stream whose work an 'asynchronous' copy has waited for
  event_done,     // ... for such an event
  query,          // tested: a wait behind queries, the last of which said that all is done
  event_query,    // ... of an event
  foreign,        // tested: a wait for another context, before the one that counts
  foreign_busy,   // ... that has work of its own
  in_foreign,     // the work is in a stream of another context, and so is the wait
  event_across,   // the work is in another context, and the program waits for its event in this one
  stream_across,  // ... and a stream of this context does, and the program for that stream
  thread_busy,    // tested: another thread's wait for its own default stream, before the one that counts
  in_thread,      // another thread gives the work to its default stream and waits
  host_function,  // a host function follows the work
  linked,         // the kernel finds the data's address in other memory of its kind, which it is given
  beside,         // tested: a wait for a kernel that is given such other memory, which holds no address
};
enum class Consumer { same, late, other, call, next, reuse, stream, free_, none, source, count };
inline constexpr size_t kConsumerCount = static_cast<size_t>(Consumer::count);

struct Row {
  const char *memory_name, *ordering_name;
  Memory memory;
  Ordering ordering;
  const char *truths, *reason;
};
struct Cell {
  const Row* row;
  Consumer consumer;

  std::string name() const;      // pinned-context-same
  char truth() const;            // '.': makes no sense
  const char* function() const;  // whose wait is tested
  bool is_source() const { return consumer == Consumer::reuse || consumer == Consumer::source; }
};

// Rows of the table.
inline constexpr size_t kRowCount = 0
#define ROW(...) +1
#include "cells.def"
#undef ROW
    ;
inline constexpr size_t kCells = kRowCount * kConsumerCount;
std::vector<Cell> all_cells();  // kCells; in the table's order

}  // namespace litmus
