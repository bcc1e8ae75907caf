#include "agent/watching/guard/releases.h"

#include "agent/watching/guard/system_calls/kernel.h"

namespace diogenes::agent {

namespace {

ReleaseFollower followed;
constexpr uintptr_t kBelowStack = 256 << 10;  // the frames of the signal and its handler

}  // namespace

void follow_releases(const ReleaseFollower& follower) { followed = follower; }

bool make_release(long number, const uint64_t arguments[6], AddressRange range, bool destroys,
                  uintptr_t stack, long* result) {
  AddressRange in_use{stack - kBelowStack, stack};
  if (!followed.follows || range.empty() || range.overlaps(in_use) || !followed.follows(range)) return false;
  followed.before(range);
  *result =
      raw_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  bool failed = *result < 0 && *result >= -4095;
  followed.after(range, destroys && !failed);
  return true;
}

}  // namespace diogenes::agent
