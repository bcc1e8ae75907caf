// System calls that release memory: they take effect once they have succeeded, and some fail, or release
// nothing. Such a call over memory that somebody follows is made here, in the handler, between the two
// functions of the follower: guards come down before it, and go up again if it failed. In: the dispatched
// call (dispatch.cc). Out: its result. The follower is the collector of facts.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

struct ReleaseFollower {
  bool (*follows)(AddressRange range) = nullptr;           // does it matter?
  void (*before)(AddressRange range) = nullptr;            // guards come down
  void (*after)(AddressRange range, bool gone) = nullptr;  // the memory is gone, or as it was
};
// Once, at start; kept for the life of the process.
void follow_releases(const ReleaseFollower& follower);

// Makes the call if the follower wants that. False: it does not, and nothing was done. `destroys`: success
// means that what lies in `range` is gone. `stack`: the caller's; memory that the handler runs on is not
// released here.
bool make_release(long number, const uint64_t arguments[6], AddressRange range, bool destroys,
                  uintptr_t stack, long* result);

}  // namespace diogenes::agent
