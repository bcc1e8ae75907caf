// The one stretch of code from which system calls are not dispatched (undispatched_code.cc), and the stubs in
// it.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

// Code that the kernel lets call: for PR_SET_SYSCALL_USER_DISPATCH.
AddressRange undispatched_code();

// Makes the stubs writable through a second mapping. `slot_offset`: of the thread's slot pointer from %fs;
// `flag_offset`: of the byte in the slot that a stub clears after the call. False: no executable shared
// memory here.
bool prepare_stubs(int32_t slot_offset, int8_t flag_offset);

enum class Stub : uint8_t {
  plain,     // the call, and back
  clearing,  // and clears the slot's pending byte in between
};

// The stub for the system call that returns to `site`; made at its first use, with the table of guards locked. In a
// handler. 0: no room for more.
uintptr_t stub_for(uintptr_t site, Stub kind);

// The site of the stub that begins at `code`; 0: none does. There, nothing of the call has happened yet, and
// every register but %rcx is what it was at the site's own `syscall`.
uintptr_t site_of_stub(uintptr_t code);

// Where %rcx must point while a stub runs, for unwinders (undispatched_code.cc).
inline constexpr uintptr_t kAfterSyscall = 2;

// A fault inside diogenes_copy: `instruction` is moved to its failing exit, and true returned.
bool recover_copy(uintptr_t& instruction);

}  // namespace diogenes::agent
