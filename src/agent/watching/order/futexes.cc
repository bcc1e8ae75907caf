// Futex calls that the program makes itself, as the kernel's dispatch of system calls shows them (guard/):
// before they are made, so that what a wait heard is known only when the thread does something else.
#include <dlfcn.h>
#include <unistd.h>

#include "agent/core/recording/elf_image.h"
#include "agent/watching/order/order_records.h"

namespace diogenes::agent {

namespace {

AddressRange libc_code, locks_code;  // the same, where libc has no library of its own for threads
uintptr_t libc_syscall = 0;          // through which the program makes its own
constexpr uintptr_t kSyscallBytes = 64;

bool is_libcs_own(uintptr_t site) {
  return (libc_code.contains(site) || locks_code.contains(site)) &&
         !AddressRange::of(libc_syscall, kSyscallBytes).contains(site);
}

void before_wake(uint64_t address) {
  if (version(this_thread()) == 0 && !order_thread.awaits_futex) return;
  tell(OrderObject::futex, address, 0, kNoChange);
  // When the other thread goes on is not seen: what it may touch is watched before.
  after_acquire();
}

void before_wait(uint64_t address) {
  OrderThread& me = this_thread();
  finish_pending(me);
  me.futex = address;
  me.futex_since = begin_sleep();
  me.awaits_futex = true;
  thread_state.owes_order = true;
}

}  // namespace

void find_libc() {
  libc_syscall = reinterpret_cast<uintptr_t>(&syscall);
  auto lock = reinterpret_cast<uintptr_t>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  for_each_image(
      [](const LoadedImage& image, void* lock_function) {
        if (image.code().contains(libc_syscall)) libc_code = image.code();
        if (image.code().contains(*static_cast<uintptr_t*>(lock_function))) locks_code = image.code();
      },
      &lock);
}

void order_by_futex(uint64_t address, uint64_t operation, uintptr_t site) {
  if (!order_wanted.load(std::memory_order_relaxed) || !recording() || thread_state.pass > 0 ||
      guard_thread.driver || is_libcs_own(site))
    return;
  KeepErrno keep;
  switch (operation & 0x7f) {
    case 0:
    case 6:
    case 9:
    case 13:  // WAIT, LOCK_PI, WAIT_BITSET, LOCK_PI2
      return before_wait(address);
    case 1:
    case 3:
    case 4:
    case 5:
    case 7:
    case 10:  // WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET
      return before_wake(address);
    default:
      break;
  }
}

void finish_futex_wait() {
  KeepErrno keep;
  OrderThread& me = this_thread();
  if (!me.awaits_futex) return;
  me.awaits_futex = false;
  Blocked blocked = end_sleep(me.futex_since);
  hear(OrderObject::futex, me.futex, 0, blocked, [](LockedObject& object) { return object->sequence; });
}

}  // namespace diogenes::agent
