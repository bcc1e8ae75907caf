// A sentence for every kind of loss, and for every reason why an instance could not be watched.
#include "analysis/report/notices.h"

namespace diogenes {

const char* drop_sentence(Drop cause) {
  switch (cause) {
    case Drop::records_full:
      return "the limit of recorded bytes was reached (--max-trace-size); later calls are missing";
    case Drop::file_failed:
      return "a trace file could not be made or grown (disk full, permissions); calls are missing";
    case Drop::stacks_full:
      return "the table of distinct stacks was full; these calls have no stack";
    case Drop::stack_cut:
      return "a stack was deeper than 128 frames; its outer frames are missing";
    case Drop::modules_full:
      return "the table of loaded files was full; frames in later ones have no name";
    case Drop::threads_full:
      return "there were more threads than can be recorded; their calls are missing";
    case Drop::guards_full:
      return "memory could not be guarded (no page guard was free, guarding had ended, or a system call or another "
             "thread was using these pages); the synchronization counts as needed";
    case Drop::verification_full:
      return "a suspected duplicate transfer was not verified, and does not count as one";
    case Drop::objects_full:
      return "a table of streams, events, allocations or pending copies was full; what is not in it counts as needed";
    case Drop::watchpoints_missing:
      return "there were no hardware watchpoints (they are refused or do not fire, as `diogenes doctor` says, or there "
             "were too many threads); results on stacks, in globals and in small heap blocks count as needed";
    case Drop::watchpoints_full:
      return "all hardware watchpoints were taken by other small results; the synchronization counts as "
             "needed";
    case Drop::orders_full:
      return "there were more locks, conditions and semaphores, or more uses of them, than can be followed; those "
             "left out give no certain order between threads";
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
      return "data smaller than a page (stack, globals, small heap blocks), and no hardware watchpoint was free: "
             "there are four, of 8 bytes each";
    case kExposed:
      return "their page was not guarded for a while, and an access would not have been seen";
    case kGuardRefused:
      return "their memory could not be guarded";
    case kUndecoded:
      return "which memory their work writes is not known (batches, arrays, graphs)";
    case kDriverAccess:
      return "the driver itself accessed the data";
    case kUnresolved:
      return "the program or the recording ended before a use could be seen";
    case kOverBudget:
      return "not looked at, to keep within --max-overhead";
    case kUnknownMemory:
      return "managed or mapped memory of which not enough is known";
    default:
      return "a reason that this version does not know";
  }
}

}  // namespace diogenes
