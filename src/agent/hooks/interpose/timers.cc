// timer_create with SIGEV_THREAD: libc makes a thread for each expiry, and none of them by a call that can be
// interposed. They are the program's while they run its function, as host functions are; libc's own part of
// them, and the helper that makes them, touches nothing of the program's.
#include <errno.h>
#include <signal.h>
#include <time.h>

#include <atomic>

#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/threads/threads.h"

namespace {

using namespace diogenes::agent;

Next<int(clockid_t, sigevent*, timer_t*)> next_create("timer_create");

__attribute__((constructor)) void look_up() { next_create.get(); }

// They live as long as the process: an expiry may be under way when its timer is deleted.
struct Notification {
  void (*function)(sigval);
  sigval value;
};
constexpr uint32_t kNotifications = 1024;
Notification notifications[kNotifications];
std::atomic<uint32_t> used{0};

void notify(sigval ours) {
  const auto& notification = *static_cast<const Notification*>(ours.sival_ptr);
  ProgramCode before;
  enter_program_code(before);
  notification.function(notification.value);
  leave_program_code(before);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int timer_create(clockid_t clock, sigevent* event,
                                                                   timer_t* timer) noexcept {
  auto* next = next_create.get();
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  const uint32_t at = stage_uses_guards() && event && event->sigev_notify == SIGEV_THREAD ? used.fetch_add(1)
                                                                                          : kNotifications;
  if (at >= kNotifications) return next(clock, event, timer);
  notifications[at] = {event->sigev_notify_function, event->sigev_value};
  sigevent ours = *event;
  ours.sigev_notify_function = notify;
  ours.sigev_value.sival_ptr = &notifications[at];
  KnownHelper helper;
  return next(clock, &ours, timer);
}
