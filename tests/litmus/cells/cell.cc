#include "cell.h"

namespace litmus {
namespace {

constexpr const char* kConsumers[] = {"same",  "late",   "other", "call", "next",
                                      "reuse", "stream", "free",  "none", "source"};

#define ROW(memory, ordering, truths, reason) \
  {#memory, #ordering, Memory::memory, Ordering::ordering, truths, reason},
constexpr Row kRows[] = {
#include "cells.def"
};
#undef ROW

}  // namespace

std::string Cell::name() const {
  std::string result = std::string(row->memory_name) + "-" + row->ordering_name + "-" +
                       kConsumers[static_cast<size_t>(consumer)];
  std::erase(result, '_');
  return result;
}

char Cell::truth() const { return row->truths[2 * static_cast<size_t>(consumer)]; }

const char* Cell::function() const {
  switch (row->ordering) {
    case Ordering::context:
    case Ordering::foreign:
    case Ordering::foreign_busy:
      return "cuCtxSynchronize";
    case Ordering::event:
    case Ordering::event_done:
    case Ordering::event_query:
    case Ordering::event_across:
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

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const Row& row : kRows)
    for (size_t i = 0; i < kConsumerCount; ++i) cells.push_back({&row, static_cast<Consumer>(i)});
  return cells;
}

}  // namespace litmus
