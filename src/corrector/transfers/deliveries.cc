#include "corrector/transfers/deliveries.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace diogenes::corrector {

namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

// All signals are blocked meanwhile: a handler on this thread that comes for the same bytes would wait for itself.
class Deliveries::Turn {
 public:
  explicit Turn(Deliveries& all) : all_(all) {
    uint64_t every = ~uint64_t{0};
    all_.call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&every), reinterpret_cast<long>(&mask_),
              sizeof mask_);
    while (all_.busy_.exchange(true, std::memory_order_acquire)) all_.call(SYS_sched_yield, 0);
  }
  ~Turn() {
    all_.busy_.store(false, std::memory_order_release);
    all_.call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask_), 0, sizeof mask_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Deliveries& all_;
  uint64_t mask_ = 0;
};

bool Deliveries::start(const CorrectorServices& services) {
  services_ = &services;
  void* page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const char tried = 42;
  const bool works = write(reinterpret_cast<uint64_t>(page), &tried, 1);
  munmap(page, kPage);
  return works;
}

bool Deliveries::full() const {
  return end_.load(std::memory_order_relaxed) - first_.load(std::memory_order_relaxed) == kDeliveries;
}

void Deliveries::add(Deferral deferral, uint64_t host, uint64_t bytes, const void* from) {
  const uint32_t end = end_.load(std::memory_order_relaxed);
  ring_[end % kDeliveries] = {deferral, host, bytes, from};
  end_.store(end + 1, std::memory_order_release);
}

Deferral Deliveries::to_come(uint64_t host, uint64_t bytes, bool but_inside) {
  if (first_.load(std::memory_order_relaxed) == end_.load(std::memory_order_relaxed)) return 0;
  Turn turn(*this);
  Deferral latest = 0;
  for (uint32_t i = first_.load(std::memory_order_relaxed); i != end_.load(std::memory_order_relaxed); ++i) {
    const Delivery& one = ring_[i % kDeliveries];
    const bool inside = one.host >= host && one.host + one.bytes <= host + bytes;
    if (one.host < host + bytes && one.host + one.bytes > host && !(inside && but_inside))
      latest = one.deferral;
  }
  return latest;
}

void Deliveries::drop_inside(uint64_t host, uint64_t bytes) {
  if (first_.load(std::memory_order_relaxed) == end_.load(std::memory_order_relaxed)) return;
  Turn turn(*this);
  for (uint32_t i = first_.load(std::memory_order_relaxed); i != end_.load(std::memory_order_relaxed); ++i) {
    Delivery& one = ring_[i % kDeliveries];
    if (one.host >= host && one.host + one.bytes <= host + bytes) one.bytes = 0;
  }
  uint32_t first = first_.load(std::memory_order_relaxed);
  while (first != end_.load(std::memory_order_relaxed) && ring_[first % kDeliveries].bytes == 0) ++first;
  first_.store(first, std::memory_order_release);
}

Deferral Deliveries::next(Deferral last) const {
  const uint32_t first = first_.load(std::memory_order_acquire);
  if (first == end_.load(std::memory_order_acquire)) return 0;
  const Deferral deferral = ring_[first % kDeliveries].deferral;
  return deferral <= last ? deferral : 0;
}

void Deliveries::deliver(Deferral last, bool failed) {
  if (next(last) == 0) return;
  Turn turn(*this);
  while (next(last) != 0) {
    const uint32_t first = first_.load(std::memory_order_relaxed);
    const Delivery& one = ring_[first % kDeliveries];
    if (one.bytes > 0 && !failed && !write(one.host, one.from, one.bytes))
      write_without_files(one.host, one.from, one.bytes);
    first_.store(first + 1, std::memory_order_release);
  }
}

// Through /proc/self/mem, which asks for no right of the program's to these pages, so that its other threads go on to meet
// the guards. Opened each time: the program may close files that it did not open.
bool Deliveries::write(uint64_t to, const void* from, uint64_t bytes) const {
  const long file = call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/mem"), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const auto* source = static_cast<const char*>(from);
  uint64_t done = 0;
  while (done < bytes) {
    const long written = call(SYS_pwrite64, file, reinterpret_cast<long>(source + done),
                              static_cast<long>(bytes - done), static_cast<long>(to + done));
    if (written <= 0) break;
    done += static_cast<uint64_t>(written);
  }
  call(SYS_close, file);
  return done == bytes;
}

// The process has no file left: the pages are opened, a moment before their guard falls. No fault may come here, as the
// memory may be gone.
void Deliveries::write_without_files(uint64_t to, const void* from, uint64_t bytes) const {
  const uint64_t begin = to & ~(kPage - 1), end = (to + bytes + kPage - 1) & ~(kPage - 1);
  call(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin), PROT_READ | PROT_WRITE);
  const iovec source{const_cast<void*>(from), bytes}, destination{reinterpret_cast<void*>(to), bytes};
  call(SYS_process_vm_writev, call(SYS_getpid, 0), reinterpret_cast<long>(&source), 1,
       reinterpret_cast<long>(&destination), 1);
}

}  // namespace diogenes::corrector
