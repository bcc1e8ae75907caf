#include "agent/watching/guard/system_calls/odd_calls.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "agent/core/memory/copy.h"
#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"
#include "agent/watching/order/order.h"
#include "agent/watching/peer_memory.h"
#include "agent/watching/value_follower.h"

namespace diogenes::agent {

void before_futex(Dispatched& call) {
  const auto& arguments = call.arguments;
  order_by_futex(arguments[0], arguments[1], call.site);
  switch (arguments[1] & 0x7f) {
    case 0:
    case 6:
    case 9:
    case 13:  // WAIT, LOCK_PI, WAIT_BITSET, LOCK_PI2
      if (arguments[3]) use_memory(call, AddressRange::of(arguments[3], sizeof(timespec)), Access::read);
      break;
    case 11:  // WAIT_REQUEUE_PI
      if (arguments[3]) use_memory(call, AddressRange::of(arguments[3], sizeof(timespec)), Access::read);
      [[fallthrough]];
    case 3:
    case 4:
    case 5:
    case 12:  // REQUEUE, CMP_REQUEUE, WAKE_OP, CMP_REQUEUE_PI
      use_memory(call, AddressRange::of(arguments[4], 4), Access::write);
      break;
    default:
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

// Some options hold pointers, which the kernel follows; and a filter that is asked for has a length in instructions.
static void before_socket_option(Dispatched& call) {
  const uint64_t level = call.arguments[1], option = call.arguments[2];
  constexpr uint64_t kAttachFilter = 26, kAttachPortFilter = 51, kFirstOfNetfilter = 64, kXdp = 283;
  if (call.number == SYS_getsockopt) {
    socklen_t instructions = 0;
    if (level == SOL_SOCKET && option == SO_GET_FILTER &&
        diogenes_copy(&instructions, reinterpret_cast<const void*>(call.arguments[4]), sizeof instructions))
      use_memory(call, AddressRange::of(call.arguments[3], instructions * sizeof(sock_filter)),
                 Access::write);
    return;
  }
  if (level == SOL_SOCKET && (option == kAttachFilter || option == kAttachPortFilter)) {
    sock_fprog program{};
    if (diogenes_copy(&program, reinterpret_cast<const void*>(call.arguments[3]), sizeof program))
      use_memory(
          call,
          AddressRange::of(reinterpret_cast<uintptr_t>(program.filter), program.len * sizeof(sock_filter)),
          Access::read);
  } else if (level == kXdp || ((level == SOL_IP || level == SOL_IPV6) && option >= kFirstOfNetfilter)) {
    hold_everything_off(call);
  }
}

void before_end_of_thread(Dispatched& call) {
  constexpr int kMost = 2048;  // as many as the kernel looks at
  robust_list_head* head = nullptr;
  size_t bytes = 0;
  if (raw_syscall(SYS_get_robust_list, 0, &head, &bytes) != 0 || !head) return;
  robust_list_head list{};
  if (!diogenes_copy(&list, head, sizeof list)) return;
  const auto first = reinterpret_cast<uintptr_t>(head);
  auto entry = reinterpret_cast<uintptr_t>(list.list.next) & ~uintptr_t{1};  // the lowest bit is a flag
  for (int i = 0; i < kMost && entry != 0 && entry != first; ++i) {
    use_memory(call, AddressRange::of(entry, sizeof(robust_list)), Access::read);
    use_memory(call, AddressRange::of(entry + static_cast<uintptr_t>(list.futex_offset), 4), Access::write);
    robust_list next{};
    if (!diogenes_copy(&next, reinterpret_cast<const void*>(entry), sizeof next)) return;
    entry = reinterpret_cast<uintptr_t>(next.next) & ~uintptr_t{1};
  }
}

void before_transfer(Dispatched& call) {
  if (!peer_file_opened.load(std::memory_order_relaxed)) [[likely]]
    return;
  const PeerAccess access = peer_access(call.number, call.arguments);
  if (access.process == 0) return;
  if (access.process == static_cast<int>(raw_syscall(SYS_getpid)))
    use_memory(call, access.range, access.touching == Touching::writes ? Access::write : Access::read);
  else
    note_peer_access(access);
}

void before_control(Dispatched& call) {
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_setsockopt:
    case SYS_getsockopt:
      before_socket_option(call);
      break;
    case SYS_fcntl:
      if (int bytes = fcntl_bytes(arguments[1]))
        use_memory(call, AddressRange::of(arguments[2], static_cast<uint64_t>(bytes)), Access::write);
      break;
    case SYS_arch_prctl:
      call.stub = Stub::plain;  // %fs may be another one after it
      if (arguments[0] == ARCH_GET_FS || arguments[0] == ARCH_GET_GS)
        use_memory(call, AddressRange::of(arguments[1], 8), Access::write);
      else if (arguments[0] != ARCH_SET_FS && arguments[0] != ARCH_SET_GS)
        hold_everything_off(call);
      break;
    case SYS_prctl:
      switch (arguments[0]) {
        case PR_SET_NAME:
        case PR_GET_NAME:
          use_memory(call, AddressRange::of(arguments[1], 16), Access::write);
          break;
        case 0x53564d41:  // PR_SET_VMA: names memory
          use_memory(call, AddressRange::of(arguments[4], 80), Access::read);
          break;
        case PR_SET_DUMPABLE:
        case PR_GET_DUMPABLE:
        case PR_SET_NO_NEW_PRIVS:
        case PR_GET_NO_NEW_PRIVS:
        case PR_SET_TIMERSLACK:
        case PR_GET_TIMERSLACK:
        case PR_CAPBSET_READ:
        case PR_SET_THP_DISABLE:
        case PR_GET_THP_DISABLE:
        case PR_SET_KEEPCAPS:
        case PR_GET_KEEPCAPS:
          break;
        case PR_GET_PDEATHSIG:
        case PR_GET_CHILD_SUBREAPER:
          use_memory(call, AddressRange::of(arguments[1], 4), Access::write);
          break;
        case PR_SET_PDEATHSIG:
        case PR_SET_CHILD_SUBREAPER:
          break;
        case PR_SET_PTRACER:  // others are let in: copies from process to process, as MPI makes them
          refuse_for_good();
          give_up_everything();
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
