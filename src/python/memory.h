// How the interpreter's memory is read. As it is, where the thread's own frames stand still: in a hook, after
// its thread state was checked. Through the kernel, which says so where memory is not there, everywhere else.
#pragma once
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace diogenes::python {

inline constexpr size_t kLargestView = 256;

// A piece of memory to look at: in place, or as a copy.
struct View {
  const uint8_t* bytes = nullptr;  // null: it is not there
  alignas(8) uint8_t copy[kLargestView];

  template <typename T>
  T get(unsigned offset) const {
    T value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
};

struct InPlace {
  static bool look(uintptr_t at, size_t, View& view) {
    view.bytes = reinterpret_cast<const uint8_t*>(at);
    return at != 0;
  }
  static bool copy(uintptr_t at, size_t bytes, void* to) {
    memcpy(to, reinterpret_cast<const void*>(at), bytes);
    return true;
  }
};

struct ThroughKernel {
  static bool copy(uintptr_t at, size_t bytes, void* to) {
    const int kept = errno;
    iovec here{to, bytes}, there{reinterpret_cast<void*>(at), bytes};
    const bool read =
        syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == static_cast<long>(bytes);
    errno = kept;
    return read;
  }
  static bool look(uintptr_t at, size_t bytes, View& view) {
    view.bytes = at != 0 && copy(at, bytes, view.copy) ? view.copy : nullptr;
    return view.bytes != nullptr;
  }
};

}  // namespace diogenes::python
