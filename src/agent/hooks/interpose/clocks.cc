// The clocks that programs time themselves with: the reading is theirs, as it would be without us; what is
// noted is that it happened (clock_reads.h). std::chrono, omp_get_wtime, MPI_Wtime and Python's clocks end
// here, too.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/pass_through.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/clock_reads.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using namespace diogenes::agent;
using diogenes::monotonic_now;
using diogenes::Nanoseconds;

Next<int(clockid_t, timespec*)> next_clock_gettime("clock_gettime");
Next<int(timeval*, void*)> next_gettimeofday("gettimeofday");
Next<int(timespec*, int)> next_timespec_get("timespec_get");
Next<clock_t()> next_clock("clock");

__attribute__((constructor)) void look_up() {
  next_clock_gettime.get(), next_gettimeofday.get(), next_timespec_get.get(), next_clock.get();
}

// When the program asked for the time, or 0 where nobody wants to know. It is taken before the program's own
// reading, which can be a slow system call (clock()).
inline Nanoseconds asked_now() {
  if (!thread_state.awaits_clock || thread_state.pass > 0) [[likely]]
    return {};
  PassThrough pass;  // monotonic_now() comes here, too
  return monotonic_now();
}

inline void note(void* caller, Nanoseconds asked) {
  if (asked.count == 0) [[likely]]
    return;
  KeepErrno keep;
  note_clock_read(reinterpret_cast<uintptr_t>(caller), asked);
}

}  // namespace

// Without the next one in line (it is being looked up): what the kernel says.
EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const Nanoseconds asked = asked_now();
  auto* next = next_clock_gettime.get();
  int result = next ? next(clock, time) : static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  note(__builtin_return_address(0), asked);
  return result;
}

EXPORTED int gettimeofday(timeval* time, void* zone) noexcept {
  const Nanoseconds asked = asked_now();
  auto* next = next_gettimeofday.get();
  int result = next ? next(time, zone) : static_cast<int>(syscall(SYS_gettimeofday, time, zone));
  note(__builtin_return_address(0), asked);
  return result;
}

EXPORTED int timespec_get(timespec* time, int base) noexcept {
  const Nanoseconds asked = asked_now();
  auto* next = next_timespec_get.get();
  int result = next ? next(time, base) : base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, time) ? base : 0;
  note(__builtin_return_address(0), asked);
  return result;
}

EXPORTED clock_t clock() noexcept {
  const Nanoseconds asked = asked_now();
  auto* next = next_clock.get();
  clock_t result = next ? next() : static_cast<clock_t>(-1);  // as where there is none
  note(__builtin_return_address(0), asked);
  return result;
}
