// A sentence for every kind of loss, and for every reason why an instance could not be watched.
#include "analysis/report/notices.h"

namespace diogenes {

const char* drop_sentence(Drop cause) {
  switch (cause) {
    case Drop::records_full:
      return "the limit of recorded bytes was reached; later operations are missing";
    case Drop::file_failed:
      return "a trace file could not be made or grown (disk full, permissions); operations are missing";
    case Drop::stacks_full:
      return "the table of distinct stacks was full; these operations have no stack";
    case Drop::stack_cut:
      return "a stack was deeper than 128 frames; its outer frames are missing";
    case Drop::modules_full:
      return "the table of loaded files was full; frames in later ones have no name";
    case Drop::threads_full:
      return "more threads than can be recorded; their operations are missing";
    case Drop::guards_full:
      return "no page guard could be raised (none was free, guarding had ended, or a system call or another "
             "thread was using these pages); the synchronization counts as needed";
    case Drop::verification_full:
      return "a suspected duplicate transfer was not verified, and does not count as one";
    case Drop::objects_full:
      return "a table of streams, events, allocations or pending copies was full; what it concerns counts as "
             "needed";
    case Drop::watchpoints_missing:
      return "no hardware watchpoints here (perf_event_open is refused, as `diogenes doctor` tells, or there "
             "were too many threads); results on stacks, in globals and in small heap blocks count as needed";
    case Drop::watchpoints_full:
      return "all hardware watchpoints were taken by other small results; the synchronization counts as "
             "needed";
    case Drop::orders_full:
      return "locks, conditions and semaphores were more, or used more often, than can be followed; no order "
             "between threads follows for certain from those left out";
    case Drop::count_:
      break;
  }
  return "lost for a cause that this version does not know";
}

bool loses_operations(Drop cause) {
  return cause == Drop::records_full || cause == Drop::file_failed || cause == Drop::threads_full;
}

const char* unwatched_sentence(uint32_t reason) {
  switch (reason) {
    case kSmallRange:
      return "data smaller than a page (stack, globals, small heap blocks) that no hardware watchpoint was "
             "there "
             "for: four pieces of 8 bytes at a time";
    case kExposed:
      return "their page stood open for a while, when no touch of it would have been seen";
    case kGuardRefused:
      return "no guard could be placed";
    case kUndecoded:
      return "the destination of their work is not known (batches, arrays, graphs)";
    case kDriverAccess:
      return "the driver itself touched the data";
    case kUnresolved:
      return "the program ended, or the record did, before it was known";
    case kOverBudget:
      return "not looked at, to keep within --max-overhead";
    case kUnknownMemory:
      return "managed or mapped memory of which not enough is known";
    default:
      return "a reason that this version does not know";
  }
}

}  // namespace diogenes
