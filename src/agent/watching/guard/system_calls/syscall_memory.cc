#include "agent/watching/guard/system_calls/syscall_memory.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/utsname.h>

namespace diogenes::agent {

namespace {

constexpr Piece reads(uint8_t argument, uint32_t size) {
  return {PieceKind::fixed, argument, 0, Access::read, size};
}
constexpr Piece writes(uint8_t argument, uint32_t size) {
  return {PieceKind::fixed, argument, 0, Access::write, size};
}
constexpr Piece reads_n(uint8_t argument, uint8_t count, uint32_t size = 1) {
  return {PieceKind::counted, argument, count, Access::read, size};
}
constexpr Piece writes_n(uint8_t argument, uint8_t count, uint32_t size = 1) {
  return {PieceKind::counted, argument, count, Access::write, size};
}
constexpr Piece bits(uint8_t argument, uint8_t count) {
  return {PieceKind::bits, argument, count, Access::write, 1};
}
constexpr Piece text(uint8_t argument) { return {PieceKind::text, argument, 0, Access::read, 1}; }
constexpr Piece vectors_read(uint8_t argument, uint8_t count) {
  return {PieceKind::vectors, argument, count, Access::read, 1};
}
constexpr Piece vectors_written(uint8_t argument, uint8_t count) {
  return {PieceKind::vectors, argument, count, Access::write, 1};
}
constexpr Piece message_read(uint8_t argument) { return {PieceKind::message, argument, 0, Access::read, 1}; }
constexpr Piece message_written(uint8_t argument) {
  return {PieceKind::message, argument, 0, Access::write, 1};
}
constexpr Piece address(uint8_t argument, uint8_t room) {
  return {PieceKind::address, argument, room, Access::write, 1};
}

constexpr uint32_t kStat = sizeof(struct stat), kTime = sizeof(timespec), kInterval = sizeof(itimerspec);
constexpr uint32_t kSet = 8, kSignalInfo = sizeof(siginfo_t), kUsage = sizeof(rusage),
                   kLimit = sizeof(rlimit);

constexpr SyscallEntry kEntries[] = {
#define SYSCALL(name, action, ...) {SYS_##name, Action::action, {__VA_ARGS__}},
#include "agent/watching/guard/system_calls/syscalls.def"
#undef SYSCALL
};

constexpr int kNumbers = 512;

struct ByNumber {
  uint16_t entry[kNumbers] = {};
  constexpr ByNumber() {
    for (size_t i = 0; i < sizeof kEntries / sizeof kEntries[0]; ++i)
      entry[kEntries[i].number] = static_cast<uint16_t>(i + 1);
  }
};
constexpr ByNumber by_number;
constexpr SyscallEntry kUnknown;

}  // namespace

const SyscallEntry& syscall_entry(long number) {
  if (number < 0 || number >= kNumbers || by_number.entry[number] == 0) return kUnknown;
  return kEntries[by_number.entry[number] - 1];
}

uint64_t text_bytes(uint64_t address, ReadMemory read, bool& whole) {
  constexpr uint64_t kMost = 4096;
  for (uint64_t bytes = 0; bytes < kMost;) {
    char part[64];
    uint64_t take = std::min<uint64_t>(sizeof part, kPageSize - (address + bytes) % kPageSize);
    if (!read(part, reinterpret_cast<const void*>(address + bytes), take)) return bytes + 1;
    for (uint64_t i = 0; i < take; ++i)
      if (part[i] == 0) {
        whole = true;
        return bytes + i + 1;
      }
    bytes += take;
  }
  whole = true;
  return kMost;
}

bool advice_reaches_pages(int advice) {
  constexpr int kCollapse = 25;  // Linux 6.1
  static constexpr int kOthers[] = {
      MADV_NORMAL,     MADV_RANDOM,      MADV_SEQUENTIAL, MADV_WILLNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
      MADV_MERGEABLE,  MADV_UNMERGEABLE, MADV_DONTDUMP,   MADV_DODUMP,   MADV_DONTFORK, MADV_DOFORK,
      MADV_WIPEONFORK, MADV_KEEPONFORK,  MADV_COLD,       MADV_PAGEOUT,  kCollapse};
  return std::find(std::begin(kOthers), std::end(kOthers), advice) == std::end(kOthers);
}

bool advice_destroys(int advice) {
  constexpr int kDontNeedLocked = 24;  // Linux 5.18
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == kDontNeedLocked;
}

int ioctl_bytes(uint64_t request) {
  switch (request) {
    case TCGETS:
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
      return 64;
    case TIOCGWINSZ:
    case TIOCSWINSZ:
      return 8;
    case TIOCGPGRP:
    case TIOCSPGRP:
    case TIOCGSID:
    case FIONREAD:
    case FIONBIO:
    case TIOCOUTQ:
    case TIOCGPTN:
      return 8;
    case FIOCLEX:
    case FIONCLEX:
    case TCSBRK:
    case TCFLSH:
    case TCXONC:
    case TIOCEXCL:
    case TIOCNXCL:
    case TIOCNOTTY:
      return 0;
    default:
      return -1;
  }
}

int fcntl_bytes(uint64_t command) {
  switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return 32;
    case F_GETOWN_EX:
    case F_SETOWN_EX:
      return 8;
    default:
      return command < 1035 ? 0 : -1;  // numbers; F_*_RW_HINT and later ones are given pointers
  }
}

}  // namespace diogenes::agent
