#include "agent/watching/guard/system_calls/odd_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "agent/core/memory/copy.h"
#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"

namespace diogenes::agent {

void before_futex(Dispatched& call) {
  const auto& arguments = call.arguments;
  guard_sinks.futex(arguments[0], arguments[1], call.site);
  switch (arguments[1] & 0x7f) {
    case 0:
    case 6:
    case 9:
    case 13:  // WAIT, LOCK_PI, WAIT_BITSET, LOCK_PI2
      if (arguments[3]) use_memory(call, AddressRange::of(arguments[3], sizeof(timespec)), Access::read);
      break;
    case 1:
    case 7:
    case 8:
    case 10:  // WAKE, UNLOCK_PI, TRYLOCK_PI, WAKE_BITSET
      break;
    default:
      hold_everything_off(call);
      break;
  }
}

static void close_numbers(uint64_t first, uint64_t last) {
  note_closing(first, last);
  value_source->closing(first, last);
}

void before_closing(const Dispatched& call) {
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_close:
      return close_numbers(arguments[0] & 0xffffffff, arguments[0] & 0xffffffff);
    case SYS_close_range:
      return close_numbers(arguments[0] & 0xffffffff, arguments[1] & 0xffffffff);
    case SYS_dup2:
    case SYS_dup3:
      return close_numbers(arguments[1] & 0xffffffff, arguments[1] & 0xffffffff);
    default:
      break;
  }
}

void before_opening(const Dispatched& call) {
  if (guard_sinks.open(call.number, call.arguments)) give_up_for_good();
}

void before_end_of_thread() {
  robust_list_head* head = nullptr;
  robust_list_head list{};
  size_t bytes = 0;
  if (raw_syscall(SYS_get_robust_list, 0, &head, &bytes) != 0 || !head) return;
  if (diogenes_copy(&list, head, sizeof list) && list.list.next == &head->list && !list.list_op_pending)
    return;
  give_up_for_good();
}

// Options that hold pointers, which the kernel follows, and filters, which have a length of their own.
static bool option_leads_elsewhere(uint64_t level, uint64_t option) {
  constexpr uint64_t kFilter = 26, kPortFilter = 51, kFirstOfNetfilter = 64, kXdp = 283;
  if (level == SOL_SOCKET) return option == kFilter || option == kPortFilter;
  return level == kXdp || ((level == SOL_IP || level == SOL_IPV6) && option >= kFirstOfNetfilter);
}

void before_control(Dispatched& call) {
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_setsockopt:
    case SYS_getsockopt:
      if (option_leads_elsewhere(arguments[1], arguments[2])) hold_everything_off(call);
      break;
    case SYS_ioctl:
    case SYS_fcntl: {
      const int bytes = call.number == SYS_ioctl ? ioctl_bytes(arguments[1]) : fcntl_bytes(arguments[1]);
      if (bytes < 0)
        hold_everything_off(call);
      else if (bytes > 0)
        use_memory(call, AddressRange::of(arguments[2], static_cast<uint64_t>(bytes)), Access::write);
      break;
    }
    case SYS_arch_prctl:
      call.stub = Stub::plain;  // %fs may be another one after it
      hold_everything_off(call);
      break;
    case SYS_prctl:
      switch (arguments[0]) {
        case PR_SET_NAME:
        case PR_GET_NAME:
          use_memory(call, AddressRange::of(arguments[1], 16), Access::write);
          break;
        case PR_SET_PTRACER:  // others are let in: copies from process to process, as MPI makes them
          give_up_for_good();
          break;
        case 59:  // PR_SET_SYSCALL_USER_DISPATCH: the program wants it for itself
          refuse_for_good();
          let_go(call);
          break;
        default:
          hold_everything_off(call);
          break;
      }
      break;
    default:
      break;
  }
}

}  // namespace diogenes::agent
