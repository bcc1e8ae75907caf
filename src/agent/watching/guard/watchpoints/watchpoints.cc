#include "agent/watching/guard/watchpoints/watchpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/own_folders.h"
#include "agent/watching/guard/threads/threads.h"
#include "base/perf_trap.h"

namespace diogenes::agent {

namespace {

// The largest piece that one register can watch there.
AddressRange piece_at(uintptr_t at, uintptr_t end) {
  uintptr_t bytes = 8;
  while (at % bytes != 0 || bytes > end - at) bytes /= 2;
  return AddressRange::of(at, bytes);
}

}  // namespace

WatchPieces watch_pieces(AddressRange range) {
  WatchPieces result;
  for (uintptr_t at = range.begin; at < range.end;) {
    if (result.count == kWatchRegisters) return {};
    AddressRange piece = piece_at(at, range.end);
    result.pieces[result.count++] = piece;
    at = piece.end;
  }
  return result;
}

namespace {

constexpr uint64_t kOurs = 0x6469'6f67'7761'7463;  // sig_data of our events
constexpr uint32_t kRoots = 64;
constexpr uint32_t kHeirs = 4096;

// Where an event is.
struct Place {
  AddressRange piece;
  Protection protection;
  bool on;
  bool operator==(const Place&) const = default;
};

// A thread on which events were opened; those that it made since have inherited them.
struct Root {
  uint32_t thread;
  int files[kWatchRegisters];
  Place places[kWatchRegisters];
};

enum class State : uint8_t { not_yet, there, none };
State state = State::not_yet;
Root roots[kRoots];
uint32_t root_count = 0;
uint32_t registers = 0;
uint32_t heirs[kHeirs];  // threads that were found to have inherited theirs, while opening
uint32_t heir_count = 0;
uint64_t counted[kWatchRegisters];  // touches before it was armed

perf_event_attr attributes_of(AddressRange piece, Protection protection, bool disabled) {
  perf_event_attr attributes = register_attributes(
      protection == Protection::no_access ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W, piece, kOurs);
  attributes.inherit = attributes.inherit_thread = 1;
  attributes.disabled = disabled;
  return attributes;
}

// The files' numbers: above the program's limit, where they take none of its own and no loop that closes all
// files comes by. The limit is up for as long as this lives; files stay valid behind a limit that came down.
class AboveTheLimit {
 public:
  AboveTheLimit() {
    constexpr uint64_t kFiles = uint64_t{kRoots} * kWatchRegisters, kLargeTable = 65536;
    if (raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &before_) != 0) return;
    lowest_ = static_cast<long>(before_.rlim_cur);
    rlimit more{std::min(before_.rlim_max, before_.rlim_cur + kFiles), before_.rlim_max};
    raised_ = before_.rlim_cur <= kLargeTable && more.rlim_cur - before_.rlim_cur == kFiles &&
              raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &more, nullptr) == 0;
    // No way up, or so large a limit that the kernel's table of files would grow: high ones below it.
    uint64_t most = std::min<uint64_t>(before_.rlim_cur, 4096);
    if (!raised_) lowest_ = static_cast<long>(most > 1024 ? most - 512 : most / 2);
  }
  ~AboveTheLimit() {
    if (raised_) raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &before_, nullptr);
  }
  AboveTheLimit(const AboveTheLimit&) = delete;
  AboveTheLimit& operator=(const AboveTheLimit&) = delete;
  long lowest() const { return lowest_; }

 private:
  rlimit before_{};
  long lowest_ = 0;
  bool raised_ = false;
};

long open_event(uint32_t thread, long lowest) {
  // On a place of our own, and off: the address must be one that the kernel takes.
  perf_event_attr attributes =
      attributes_of(AddressRange::of(reinterpret_cast<uintptr_t>(&counted), 8), Protection::no_access, true);
  long file = raw_syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) return file;
  long high = raw_syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, lowest);
  if (high < 0) return file;
  raw_syscall(SYS_close, file);
  return high;
}

bool known(uint32_t thread) {
  for (uint32_t i = 0; i < root_count; ++i)
    if (roots[i].thread == thread) return true;
  return std::find(heirs, heirs + heir_count, thread) != heirs + heir_count;
}

enum class Opened : uint8_t { all, inherited, gone, failed };

// `want` events on the thread: all, or it has inherited them, which shows in that it has no register left.
Opened open_on(uint32_t thread, uint32_t want, uint32_t& got, long lowest) {
  got = 0;
  if (root_count == kRoots) return Opened::failed;
  Root& root = roots[root_count];
  root = {thread, {}, {}};
  long file = 0;
  while (got < want && (file = open_event(thread, lowest)) >= 0) root.files[got++] = static_cast<int>(file);
  if (got > 0 && (got == want || file == -ENOSPC)) {
    ++root_count;
    return Opened::all;
  }
  while (got > 0) raw_syscall(SYS_close, root.files[--got]);
  if (file == -ESRCH) return Opened::gone;
  return file == -ENOSPC ? Opened::inherited : Opened::failed;
}

// All threads that are there. A thread that one without events made meanwhile has none, so it is looked until
// nothing new is seen.
bool open_on_all() {
  AboveTheLimit place;
  uint32_t got;
  if (open_on(kernel_thread_id(), kWatchRegisters, got, place.lowest()) != Opened::all) return false;
  registers = got;
  for (int pass = 0; pass < 100; ++pass) {
    bool more = false;
    bool read = for_each_thread([&](uint32_t thread) {
      if (known(thread)) return true;
      switch (open_on(thread, registers, got, place.lowest())) {
        case Opened::all:
          more = true;
          return got == registers;
        case Opened::inherited:
          more = true;
          if (heir_count == kHeirs) return false;
          heirs[heir_count++] = thread;
          return true;
        case Opened::gone:
          return true;
        case Opened::failed:
          break;
      }
      return false;
    });
    if (!read) return false;
    if (more) continue;
    for (uint32_t left = registers_of_values(); left > 0 && registers > 1; --left) {
      --registers;
      for (uint32_t i = 0; i < root_count; ++i) raw_syscall(SYS_close, roots[i].files[registers]);
    }
    return true;
  }
  return false;
}

bool put_on(uint32_t index, const Place& place) {
  const perf_event_attr attributes = attributes_of(place.piece, place.protection, false);
  for (uint32_t i = 0; i < root_count; ++i) {
    if (roots[i].places[index] == place) continue;
    if (raw_syscall(SYS_ioctl, roots[i].files[index], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes) != 0)
      return false;
    roots[i].places[index] = place;
  }
  return true;
}

void switch_off(Root& root, uint32_t index) {
  raw_syscall(SYS_ioctl, root.files[index], PERF_EVENT_IOC_DISABLE, 0);
  root.places[index].on = false;
}

void switch_off_everywhere(uint32_t index) {
  for (uint32_t i = 0; i < root_count; ++i) switch_off(roots[i], index);
}

bool read_hits(uint32_t index, uint64_t& hits) {
  hits = 0;
  for (uint32_t i = 0; i < root_count; ++i) {
    uint64_t count = 0;
    if (raw_syscall(SYS_read, roots[i].files[index], &count, sizeof count) != sizeof count) return false;
    hits += count;
  }
  return true;
}

}  // namespace

uint32_t watch_registers() {
  if (state == State::not_yet) {
    ThreadsMade before = threads_made();
    if (before.coming != 0) return 0;  // which of them has what would not be known: later
    const bool opened = open_on_all(), all = opened && threads_made() == before;
    if (!all) end_watchpoints();
    state = all ? State::there : opened ? State::not_yet : State::none;
  }
  return state == State::there ? registers : 0;
}

bool no_watchpoints_here() { return state == State::none; }

bool arm_watchpoint(uint32_t index, AddressRange piece, Protection protection) {
  if (state != State::there || index >= registers) return false;
  ThreadsMade before = threads_made();
  if (before.coming != 0) return false;
  bool moved = put_on(index, {piece, protection, true});
  // A touch between the two is counted as before, but its signal comes.
  if (moved && read_hits(index, counted[index]) && threads_made() == before) return true;
  switch_off_everywhere(index);
  return false;
}

void disarm_watchpoint(uint32_t index) {
  if (state != State::there) return;
  const uint32_t me = kernel_thread_id();
  Root* own = std::find_if(roots, roots + root_count, [me](const Root& root) { return root.thread == me; });
  if (own == roots + root_count) return switch_off_everywhere(index);
  if (own->places[index].on) switch_off(*own, index);
}

uint64_t watchpoint_hits(uint32_t index) {
  uint64_t hits;
  if (state != State::there || !read_hits(index, hits)) return 1;
  return hits - counted[index];
}

void forgive_hit(uint32_t index) { ++counted[index]; }

bool is_watchpoint_trap(const siginfo_t* info, uintptr_t& address) {
  return is_register_trap(info, kOurs, address);
}

bool watchpoint_files(uint64_t first, uint64_t last) {
  for (uint32_t i = 0; i < root_count; ++i)
    for (uint32_t n = 0; n < registers; ++n) {
      auto file = static_cast<uint64_t>(roots[i].files[n]);
      if (file >= first && file <= last) return true;
    }
  return false;
}

void end_watchpoints() {
  for (uint32_t i = 0; i < root_count; ++i)
    for (uint32_t n = 0; n < registers; ++n) raw_syscall(SYS_close, roots[i].files[n]);
  root_count = heir_count = registers = 0;
  state = State::none;
}

}  // namespace diogenes::agent
