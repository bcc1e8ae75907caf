#include "launcher/sampling/cpu_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "launcher/process/signals_blocked.h"
#include "trace/cpu_samples.h"

namespace diogenes::launcher {
namespace {

constexpr uint64_t kPeriod = 5'000'000;  // ns of CPU time between two samples of a thread
constexpr size_t kRing = 512 << 10,
                 kLeastRing = 64 << 10;    // bytes; with its first page the kernel's usual limit
constexpr int kBetweenReads = 50;          // ms
constexpr int64_t kLateAfter = 2'000'000;  // ns: where a thread is by then says little
// A file of this size makes each later sample stand for twice as much, and again at twice the size.
constexpr uint64_t kHalvesAt = 64 << 20;

// rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, rip, r8 to r15, as the kernel orders them.
constexpr uint64_t kRegisters = 0x1ff | 0xff << 16;
constexpr int kInDwarf[kSampledRegisters] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int kStackPointer = 7;

int processors() {
  const long count = sysconf(_SC_NPROCESSORS_CONF);
  return static_cast<int>(std::clamp(count, 1L, 4096L));
}

int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::string refusal(int error) {
  std::string level;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  if ((error == EACCES || error == EPERM) && !level.empty() && level > "2")
    return fmt::format(
        "the kernel refuses perf events (kernel.perf_event_paranoid is {}; `sysctl kernel.perf_event_paranoid=2`, as root, "
        "allows them)",
        level);
  return fmt::format("the kernel refuses perf events here ({})", strerror(error));
}

}  // namespace

bool CpuSampler::open_on(int processor) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.sample_period = kPeriod;
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  wanted.sample_regs_user = kRegisters;
  wanted.sample_stack_user = kSampledStack;
  wanted.disabled = 1;
  wanted.inherit = 1;
  wanted.enable_on_exec = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC;
  wanted.wakeup_events = at_sample_.call ? 1 : 0;
  Buffer buffer;
  buffer.event =
      static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, processor, -1, PERF_FLAG_FD_CLOEXEC));
  if (buffer.event < 0) return false;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (buffer.bytes = kRing; buffer.bytes >= kLeastRing; buffer.bytes /= 2) {
    buffer.memory = mmap(nullptr, page + buffer.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.event, 0);
    if (buffer.memory != MAP_FAILED) break;
  }
  if (buffer.memory == MAP_FAILED) {
    const int error = errno;
    close(buffer.event);
    errno = error;
    return false;
  }
  buffers_.push_back(buffer);
  return true;
}

bool CpuSampler::start() {
  int error = 0;
  // A processor that is offline has none.
  for (int i = 0; i < processors(); ++i)
    if (!open_on(i) && errno != ENODEV) error = errno;
  if (buffers_.empty() || error != 0) {
    problem_ = refusal(error);
    close_all();
    return false;
  }
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    problem_ = fmt::format("{} cannot be written: {}", path_.string(), strerror(errno));
    close_all();
    return false;
  }
  const SignalsBlocked blocked;
  wakes_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  reader_ = std::thread([this] { read_until_over(); });
  return true;
}

void CpuSampler::read_until_over() {
  std::vector<pollfd> wakes{{wakes_, POLLIN, 0}};
  for (const Buffer& buffer : buffers_) wakes.push_back({buffer.event, POLLIN, 0});
  while (!over_.load()) {
    each_ = at_sample_.is_wanted && at_sample_.is_wanted();
    poll(wakes.data(), each_ ? wakes.size() : 1, kBetweenReads);
    for (pollfd& one : wakes)
      if (one.revents & (POLLHUP | POLLERR)) one.fd = -1;  // nobody is left to be sampled
    read_all();
  }
}

void CpuSampler::stop() {
  if (!reader_.joinable()) return;
  over_.store(true);
  if (wakes_ >= 0) eventfd_write(wakes_, 1);
  reader_.join();
  read_all();
  close_all();
  if (wakes_ >= 0) close(wakes_);
}

void CpuSampler::close_all() {
  for (const Buffer& buffer : buffers_) {
    munmap(buffer.memory, static_cast<size_t>(sysconf(_SC_PAGESIZE)) + buffer.bytes);
    close(buffer.event);
  }
  buffers_.clear();
  if (file_ >= 0) close(file_);
  file_ = -1;
}

void CpuSampler::read_all() {
  for (Buffer& buffer : buffers_) read(buffer);
}

void CpuSampler::read(Buffer& buffer) {
  auto* head = static_cast<perf_event_mmap_page*>(buffer.memory);
  const auto* ring = static_cast<const uint8_t*>(buffer.memory) + sysconf(_SC_PAGESIZE);
  // acquire: the records before `data_head`; release: they were read. Pairs with the kernel's.
  const uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
  uint64_t at = head->data_tail;
  std::vector<uint8_t> record;
  const auto copy = [&](uint64_t from, size_t bytes) {
    record.resize(bytes);
    for (size_t i = 0; i < bytes;) {
      const size_t place = (from + i) % buffer.bytes, step = std::min(bytes - i, buffer.bytes - place);
      memcpy(record.data() + i, ring + place, step);
      i += step;
    }
  };
  while (at < end) {
    perf_event_header header;
    copy(at, sizeof header);
    memcpy(&header, record.data(), sizeof header);
    if (header.size < sizeof header || header.size > end - at) break;
    copy(at, header.size);
    if (header.type == PERF_RECORD_SAMPLE) take(record);
    if (header.type == PERF_RECORD_LOST && header.size >= sizeof header + 16) {
      uint64_t lost = 0;
      memcpy(&lost, record.data() + sizeof header + 8, sizeof lost);
      lost_ += lost;
    }
    at += header.size;
  }
  __atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
}

// header, pid, tid, time, abi, registers, size, stack, how much of it is filled
void CpuSampler::take(const std::vector<uint8_t>& bytes) {
  size_t at = sizeof(perf_event_header);
  const auto next = [&](auto& value) {
    if (bytes.size() - at < sizeof value) return false;
    memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return true;
  };
  CpuSampleRecord sample;
  uint64_t time = 0, abi = 0, room = 0, filled = 0;
  if (!next(sample.pid) || !next(sample.tid) || !next(time) || !next(abi)) return;
  if (abi != PERF_SAMPLE_REGS_ABI_64) return;  // a thread of the kernel's, or of 32 bits
  for (const int number : kInDwarf)
    if (!next(sample.registers[number])) return;
  if (!next(room) || room > bytes.size() - at) return;
  const uint8_t* stack = bytes.data() + at;
  at += room;
  if (room > 0 && !next(filled)) return;
  if (each_ && monotonic_ns() - static_cast<int64_t>(time) < kLateAfter)
    at_sample_.call(sample.pid, sample.tid);
  if (seen_++ % (uint64_t{1} << halvings_) != 0) return;
  sample.at_ns = static_cast<int64_t>(time);
  sample.weight_ns = static_cast<int64_t>(kPeriod << halvings_);
  sample.stack_bytes = static_cast<uint32_t>(std::min<uint64_t>({filled, room, kSampledStack}));
  static constexpr uint8_t kPadding[8] = {};
  const size_t padding = (8 - sample.stack_bytes % 8) % 8;
  const iovec parts[] = {{&sample, sizeof sample},
                         {const_cast<uint8_t*>(stack), sample.stack_bytes},
                         {const_cast<uint8_t*>(kPadding), padding}};
  const auto wanted = static_cast<ssize_t>(sizeof sample + sample.stack_bytes + padding);
  if (file_ < 0 || writev(file_, parts, 3) != wanted) {
    ++lost_;
    if (file_ >= 0) close(file_);  // what follows a part would be misread
    file_ = -1;
    return;
  }
  ++taken_;
  written_ += static_cast<uint64_t>(wanted);
  while (written_ > kHalvesAt << halvings_ && halvings_ < 20) ++halvings_;
}

}  // namespace diogenes::launcher
