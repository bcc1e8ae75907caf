#include "late.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "device/clock.h"
#include "device/device.h"

namespace diogenes::sim {

namespace {

constexpr int64_t kPatienceMs = 100, kOldestInPatience = 20;
constexpr int kQueriesBeforeReady = 64;
constexpr size_t kFrames = 64;
constexpr uintptr_t kPage = 4096;

struct Frame {
  std::string module;
  uint64_t offset = 0;
};

// Of the list: any place in [begin, end) of the module.
struct ListedFrame {
  std::string module;
  uint64_t begin = 0, end = 0;
  bool holds(const Frame& frame) const {
    return frame.module == module && begin <= frame.offset && frame.offset < end;
  }
};

struct Place {
  std::vector<ListedFrame> stack;
  bool move = false, all = false;
  std::set<uint64_t> calls;
  uint64_t seen = 0;
};

struct Moved {
  uintptr_t begin, end;  // whole pages
  std::vector<OpPtr> ops;
};

// Never destroyed, as the device.
struct Late {
  std::mutex lock;  // of all but `moved`; taken last
  std::vector<Place> places;
  std::set<uintptr_t> retired;
  struct Gone {
    uintptr_t begin, end;
  };
  std::vector<Gone> gone;    // in order
  std::vector<Moved> moved;  // the device's lock
  struct sigaction program_handler = {};
  int64_t patience_ns = kPatienceMs * 1'000'000;
  int asked = 0;  // queries in a row that were answered 'not ready'
};
Late& late() {
  static Late* the_late = new Late;
  return *the_late;
}

[[noreturn]] void bad_list(const std::string& what) {
  fprintf(stderr, "simulated driver: DIOGENES_SIMULATED_LATE: %s\n", what.c_str());
  _exit(1);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void read_list(const char* file) {
  std::ifstream in(file);
  if (!in) bad_list(std::string(file) + " cannot be read");
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string verb, calls, word;
    if (!(words >> verb)) continue;
    Place place;
    place.move = verb == "move";
    if ((!place.move && verb != "skip") || !(words >> calls)) bad_list("no 'skip' or 'move' in: " + line);
    place.all = calls == "all";
    std::istringstream numbers(calls);
    while (!place.all && std::getline(numbers, word, ','))
      place.calls.insert(strtoull(word.c_str(), nullptr, 10));
    while (words >> word) {
      const size_t plus = word.rfind('+');
      if (plus == word.npos) bad_list("no module+offset in: " + line);
      char* rest = nullptr;
      const uint64_t begin = strtoull(word.c_str() + plus + 1, &rest, 16);
      const uint64_t end = strncmp(rest, "..", 2) == 0 ? strtoull(rest + 2, nullptr, 16) : begin + 1;
      place.stack.push_back({word.substr(0, plus), begin, end});
    }
    if (place.stack.empty()) bad_list("no frame in: " + line);
    late().places.push_back(std::move(place));
  }
}

struct Walk {
  uintptr_t frames[kFrames];
  size_t count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  if (walk.count == kFrames) return _URC_END_OF_STACK;
  walk.frames[walk.count++] = _Unwind_GetIP(context) - 1;
  return _URC_NO_REASON;
}

Frame frame_at(uintptr_t address) {
  static const std::string* program = [] {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return new std::string(base_name(std::string(path, length > 0 ? static_cast<size_t>(length) : 0)));
  }();
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ||
      !map)
    return {"", address};
  return {map->l_name[0] ? base_name(map->l_name) : *program, address - map->l_addr};
}

// Takes the device's lock where this thread may be anywhere in the program.
struct LockedDevice {
  LockedDevice() {
    for (int i = 0; !device().lock.try_lock(); ++i) {
      if (i == 20000) {
        static const char text[] = "simulated driver: a moved wait was met inside the driver\n";
        unstopped_call(SYS_write, 2, reinterpret_cast<long>(text), sizeof text - 1);
        _exit(1);
      }
      usleep(100);
    }
  }
  ~LockedDevice() { device().lock.unlock(); }
};

bool all_done(const std::vector<OpPtr>& ops) {
  return std::all_of(ops.begin(), ops.end(),
                     [](const OpPtr& op) { return op->done.load(std::memory_order_acquire); });
}

void demand_until_done(const std::vector<OpPtr>& ops) {
  for (;;) {
    {
      const LockedDevice held;
      device().demand(ops.data(), ops.size());
    }
    if (all_done(ops)) return;
    usleep(50);
  }
}

// The moved waits that [begin, end) meets: waited for, and their pages opened again. False: none.
bool touch(uintptr_t begin, uintptr_t end) {
  struct Inside {
    Inside() { ++late_inside_driver; }
    ~Inside() { --late_inside_driver; }
  } const inside;
  std::vector<OpPtr> ops;
  {
    const LockedDevice held;
    for (const Moved& moved : late().moved)
      if (moved.begin < end && begin < moved.end) ops.insert(ops.end(), moved.ops.begin(), moved.ops.end());
  }
  if (ops.empty()) return false;
  demand_until_done(ops);
  const LockedDevice held;
  device().demand(ops.data(), ops.size());  // opens what is done
  return true;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool ours = info->si_code == SEGV_ACCERR && touch(address, address + 1);
  errno = saved;
  if (ours) return;
  const struct sigaction& next = late().program_handler;
  if (next.sa_flags & SA_SIGINFO)
    next.sa_sigaction(signal, info, context);
  else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN)
    next.sa_handler(signal);
  else
    sigaction(signal, &next, nullptr);  // again, and to its end
}

bool on_this_stack(uintptr_t begin, uintptr_t end) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  constexpr uintptr_t kNear = 8 << 20;
  return begin < here + kNear && here < end + kNear;
}
bool in_heap(uintptr_t begin) {
  const auto break_now = reinterpret_cast<uintptr_t>(sbrk(0));
  return begin < break_now && break_now - begin < (uintptr_t{1} << 36);
}

void watch_for_silence() {
  late_inside_driver = 1;
  for (;;) {
    usleep(20000);
    const int64_t now = now_ns();
    const bool silent = now - late_last_call_ns.load(std::memory_order_relaxed) > late().patience_ns;
    const std::lock_guard held(device().lock);
    device().demand_all(silent ? INT64_MAX : now - kOldestInPatience * late().patience_ns);
  }
}

}  // namespace

void start_late_mode() {
  const char* file = getenv("DIOGENES_SIMULATED_LATE");
  if (!file || late_mode) return;
  read_list(file);
  if (const char* patience = getenv("DIOGENES_SIMULATED_LATE_PATIENCE_MS"))
    late().patience_ns = std::max(1L, strtol(patience, nullptr, 10)) * 1'000'000;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &late().program_handler);
  late_mode = true;
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSYS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(watch_for_silence).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Listed listed_caller() {
  if (late().places.empty()) return Listed::no;
  Walk walk;
  _Unwind_Backtrace(note_frame, &walk);
  static const void* own = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(&listed_caller), &info) ? info.dli_fbase : nullptr;
  }();
  std::vector<Frame> stack;
  for (size_t i = 0; i < walk.count; ++i) {
    Dl_info info;
    const bool found = dladdr(reinterpret_cast<void*>(walk.frames[i]), &info) != 0;
    if (stack.empty() && found && info.dli_fbase == own) continue;
    stack.push_back(frame_at(walk.frames[i]));
  }
  const std::lock_guard held(late().lock);
  Listed result = Listed::no;
  for (Place& place : late().places) {
    if (place.stack.size() > stack.size() ||
        !std::equal(place.stack.begin(), place.stack.end(), stack.begin(),
                    [](const ListedFrame& listed, const Frame& frame) { return listed.holds(frame); }))
      continue;
    ++place.seen;
    if (place.all || place.calls.contains(place.seen)) result = place.move ? Listed::move : Listed::skip;
  }
  return result;
}

bool late_asked_enough() {
  if (++late().asked < kQueriesBeforeReady) return false;
  late().asked = 0;
  return true;
}

bool move_wait(const std::vector<OpPtr>& ops) {
  std::vector<HostRange> ranges;
  device().host_ranges(ops.data(), ops.size(), &ranges);
  for (const HostRange& range : ranges)
    if (range.end - range.begin < kPage || on_this_stack(range.begin, range.end) || in_heap(range.begin))
      return false;
  auto by_call = [](uintptr_t begin, uintptr_t end) {
    if (late_inside_driver == 0) touch(begin, end);
  };
  if (!stop_calls_on_memory(by_call)) return false;
  for (const HostRange& range : ranges) {
    const uintptr_t begin = range.begin / kPage * kPage, end = (range.end + kPage - 1) / kPage * kPage;
    bool closed = false;
    for (const Moved& moved : late().moved) closed |= moved.begin < end && begin < moved.end;
    // Under an older moved wait it stays closed as that one has it; a read-only one gives way to a closed
    // one.
    if (!closed || range.written)
      mprotect(reinterpret_cast<void*>(begin), end - begin, range.written ? PROT_NONE : PROT_READ);
    late().moved.push_back({begin, end, ops});
  }
  return true;
}

void late_touch(uintptr_t begin, uintptr_t end) { touch(begin, end); }

void open_moved() {
  std::vector<Moved> done, open;
  for (Moved& moved : late().moved) (all_done(moved.ops) ? done : open).push_back(std::move(moved));
  for (const Moved& moved : done) {
    const bool shared = std::any_of(open.begin(), open.end(), [&](const Moved& other) {
      return other.begin < moved.end && moved.begin < other.end;
    });
    if (!shared)
      mprotect(reinterpret_cast<void*>(moved.begin), moved.end - moved.begin, PROT_READ | PROT_WRITE);
  }
  late().moved = std::move(open);
}

void late_retire(uintptr_t base) {
  const std::lock_guard held(late().lock);
  late().retired.insert(base);
}

void late_gone(uintptr_t begin, uintptr_t end) {
  const std::lock_guard held(late().lock);
  late().gone.push_back({begin, end});
}

uint64_t late_now() {
  const std::lock_guard held(late().lock);
  return late().gone.size();
}

bool late_gone_since(uint64_t then, uintptr_t begin, uintptr_t end) {
  const std::lock_guard held(late().lock);
  for (size_t i = then; i < late().gone.size(); ++i)
    if (late().gone[i].begin < end && begin < late().gone[i].end) return true;
  return false;
}

bool late_retired(uintptr_t base) {
  const std::lock_guard held(late().lock);
  return late().retired.contains(base);
}
void late_forget_retired(uintptr_t base) {
  const std::lock_guard held(late().lock);
  late().retired.erase(base);
}

void late_finish_all() {
  const std::lock_guard held(device().lock);
  device().demand_all(INT64_MAX);
}

}  // namespace diogenes::sim

extern "C" __attribute__((visibility("default"))) void diogenes_simulated_gone(const void* begin,
                                                                               size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  if (diogenes::sim::late_mode) diogenes::sim::late_gone(at, at + bytes);
}
