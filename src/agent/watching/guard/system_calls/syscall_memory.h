// Which memory a system call is given, and what else it does to guards: the table is syscalls.def.
#pragma once
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/watching/guard/guard.h"
#include "base/range.h"

namespace diogenes::agent {

// What the dispatcher does with a call, beyond looking at its memory. Names are those of syscalls.def.
enum class Action : uint8_t {
  unknown,         // every guard comes down first
  pass,            // only its memory
  set_mask,        // rt_sigprocmask: done here
  set_action,      // rt_sigaction: done here
  sigreturn,       // the mask in the frame must not block kGuardSignals
  wait_with_mask,  // a mask for the time of the call
  alternate_stack,
  fork_like,  // fork, vfork, clone, clone3
  end_thread,
  release,  // munmap: the guards over it are gone
  remap,    // mremap, mmap with MAP_FIXED
  map,
  reprotect,  // mprotect: the program's wish comes first, the guards over it are given up
  advise,
  move_break,
  control,  // ioctl, prctl, arch_prctl, fcntl, setsockopt: by their operation
  closes,   // files of ours, perhaps
  open,     // a file that is some process's memory, perhaps
  futex,    // its other arguments are pointers by operation
};

enum class PieceKind : uint8_t {
  none,
  fixed,    // `size` bytes
  counted,  // argument `count` times `size` bytes
  bits,     // argument `count` bits, in words (select)
  text,     // up to a zero byte
  vectors,  // an array of iovec, argument `count` long: it, and what it points to
  message,  // a msghdr, and what it points to
  address,  // a buffer whose room is at the pointer in argument `count` (socklen_t)
};

struct Piece {
  PieceKind kind = PieceKind::none;
  uint8_t argument = 0;
  uint8_t count = 0;
  Access access = Access::unknown;  // what the kernel does: read the memory, or (also) write it
  uint32_t size = 0;
};

inline constexpr int kPieces = 5;

struct SyscallEntry {
  int16_t number = -1;
  Action action = Action::unknown;
  Piece pieces[kPieces] = {};
};

const SyscallEntry& syscall_entry(long number);

using ReadMemory = bool (*)(void* to, const void* from, size_t bytes);

// Bytes of the text at `address` with its end, at most 4096; up to a page that cannot be read and one byte of
// that.
uint64_t text_bytes(uint64_t address, ReadMemory read, bool& whole);

// Calls use(AddressRange, Access) for each piece of memory until it says false; a piece that leads to others
// is used before it is read. False: stopped, or it cannot be told.
template <typename Use>
bool for_each_piece(const SyscallEntry& entry, const uint64_t* arguments, ReadMemory read, Use&& use) {
  constexpr uint64_t kMost = uint64_t{1} << 46;
  if (entry.action == Action::unknown) return false;
  auto use_bytes = [&](uint64_t begin, uint64_t bytes, Access access) {
    if (begin == 0 || bytes == 0 || begin >= kMost * 2) return true;  // EFAULT, or nothing
    return use(AddressRange::of(begin, std::min(bytes, kMost)), access);
  };
  auto use_vectors = [&](uint64_t begin, uint64_t count, Access access) {
    if (count > 1024) return true;  // EINVAL
    if (!use_bytes(begin, count * sizeof(iovec), Access::read)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      iovec vector;
      if (!read(&vector, reinterpret_cast<const iovec*>(begin) + i, sizeof vector)) return true;  // EFAULT
      if (!use_bytes(reinterpret_cast<uint64_t>(vector.iov_base), vector.iov_len, access)) return false;
    }
    return true;
  };
  auto use_message = [&](uint64_t begin, Access access) {
    msghdr message;
    if (!use_bytes(begin, sizeof message, Access::write)) return false;
    if (!read(&message, reinterpret_cast<const void*>(begin), sizeof message)) return true;
    return use_bytes(reinterpret_cast<uint64_t>(message.msg_name), message.msg_namelen, access) &&
           use_bytes(reinterpret_cast<uint64_t>(message.msg_control), message.msg_controllen, access) &&
           use_vectors(reinterpret_cast<uint64_t>(message.msg_iov), message.msg_iovlen, access);
  };
  for (const Piece& piece : entry.pieces) {
    uint64_t begin = arguments[piece.argument], count = arguments[piece.count];
    bool more = true;
    switch (piece.kind) {
      case PieceKind::none:
        return true;
      case PieceKind::fixed:
        more = use_bytes(begin, piece.size, piece.access);
        break;
      case PieceKind::counted:
        more = use_bytes(begin, std::min(count, kMost / piece.size) * piece.size, piece.access);
        break;
      case PieceKind::bits:
        more = use_bytes(begin, (std::min<uint64_t>(count, 1 << 30) + 63) / 64 * 8, piece.access);
        break;
      case PieceKind::text:
        // A page that could not be read may be a guarded one, which is open after its use: the text goes on
        // there.
        for (uint64_t seen = 0; begin && more;) {
          bool whole = false;
          uint64_t bytes = text_bytes(begin, read, whole);
          if (bytes <= seen) break;
          more = use_bytes(begin, seen = bytes, Access::read);
          if (whole) break;
        }
        break;
      case PieceKind::vectors:
        more = use_vectors(begin, count, piece.access);
        break;
      case PieceKind::message:
        more = use_message(begin, piece.access);
        break;
      case PieceKind::address: {
        socklen_t room = 0;
        more = use_bytes(count, sizeof room, Access::write);
        if (more && count && read(&room, reinterpret_cast<const void*>(count), sizeof room))
          more = use_bytes(begin, room, piece.access);
        break;
      }
    }
    if (!more) return false;
  }
  return true;
}

// Of the operations of ioctl that programs make all the time, and of fcntl: bytes at the third argument; -1: not known.
int ioctl_bytes(uint64_t request);
int fcntl_bytes(uint64_t command);
// madvise: does it bring in pages, which a guard would forbid, or destroy them? What is not known may do that.
bool advice_reaches_pages(int advice);
// Is the content of private memory gone behind it, for certain?
bool advice_destroys(int advice);

}  // namespace diogenes::agent
