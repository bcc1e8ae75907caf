#include "launcher/measuring/window_control.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "base/mapped_file.h"
#include "driver/catalogue.h"
#include "trace/mapped_file.h"

namespace diogenes::launcher {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kStep = 50'000'000;  // ns, between two looks
// For what is written behind a window by a call of the program's; one that makes none writes nothing.
constexpr int64_t kLongestEnd = 1'000'000'000;

void sleep_for(int64_t nanoseconds) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<int64_t>(nanoseconds, 0)));
}

bool gives_work(uint16_t function) {
  const DriverFunction* known = driver_function(function);
  return known && (known->role == Role::launch || known->role == Role::graph_launch ||
                   known->role == Role::transfer || known->role == Role::fill);
}

// How often the processes gave the GPU work so far.
uint64_t work_given(const fs::path& stage_folder) {
  uint64_t work = 0;
  std::error_code failed;
  for (fs::directory_iterator process(stage_folder, failed), end; !failed && process != end;
       process.increment(failed)) {
    auto file = MappedFile::open(process->path() / kCallsFile);
    if (!file) continue;
    for (size_t i = 0; i < kMostCounted; ++i)
      if (const auto* count = file->at<CallCount>(i * sizeof(CallCount));
          count && gives_work(static_cast<uint16_t>(i)))
        work += count->calls;
  }
  return work;
}

}  // namespace

Result<WindowControl> WindowControl::make(const fs::path& stage_folder) {
  const fs::path path = stage_folder / kControlFile;
  void* memory = map_part_of_file(path.c_str(), O_CREAT, 0, sizeof(ControlPage));
  if (!memory) return error("cannot write %s: %s; is the disk full?", path.c_str(), strerror(errno));
  return WindowControl(stage_folder, new (memory) ControlPage);
}

Result<WindowControl> WindowControl::open(const fs::path& stage_folder) {
  const fs::path path = stage_folder / kControlFile;
  std::error_code failed;
  void* memory =
      fs::exists(path, failed) ? map_part_of_file(path.c_str(), 0, 0, sizeof(ControlPage)) : nullptr;
  auto* page = static_cast<ControlPage*>(memory);
  if (page && page->magic == kControlMagic) return WindowControl(stage_folder, page);
  if (memory) munmap(memory, sizeof(ControlPage));
  return error("%s is recorded as a whole, not in windows; `diogenes profile --wait` begins one that is",
               stage_folder.parent_path().c_str());
}

WindowControl::WindowControl(WindowControl&& other) noexcept
    : stage_folder_(std::move(other.stage_folder_)), page_(std::exchange(other.page_, nullptr)) {}

WindowControl::~WindowControl() {
  if (page_) munmap(page_, sizeof(ControlPage));
}

// A holder that is gone has left its number.
bool WindowControl::take() {
  int32_t holder = page_->holder.load();
  if (holder != 0 && holder != getpid() && (kill(holder, 0) == 0 || errno == EPERM)) return false;
  return page_->holder.compare_exchange_strong(holder, getpid());
}

Result<Window> WindowControl::record(Nanoseconds undisturbed, Nanoseconds duration,
                                     const std::function<bool()>& goes_on) {
  if (!take())
    return error("process %d has a window open; wait until it is closed, or end it by `diogenes stop`",
                 page_->holder.load());
  const uint32_t stops = page_->stops.load();
  const uint64_t before = work_given(stage_folder_);
  const int64_t counted_from = monotonic_now().count;
  for (int64_t now = counted_from; now < counted_from + undisturbed.count; now = monotonic_now().count) {
    if (page_->stops.load() != stops || !goes_on()) break;
    sleep_for(std::min(kStep, counted_from + undisturbed.count - now));
  }
  if (page_->stops.load() != stops || !goes_on()) {
    page_->holder.store(0);
    return error("no window was opened: the program ended, or was not to be recorded any more");
  }
  const uint64_t at_begin = work_given(stage_folder_);
  Window window{.begin_ns = monotonic_now().count};
  window.undisturbed_ns = window.begin_ns - counted_from;
  window.undisturbed_work = at_begin - before;
  const int64_t last = window.begin_ns + duration.count;
  for (int64_t now = window.begin_ns; now < last; now = monotonic_now().count) {
    page_->until_ns.store(std::min(now + kWindowLease, last));
    if (page_->stops.load() != stops || !goes_on()) break;
    sleep_for(std::min(kStep, last - now));
  }
  page_->until_ns.store(0);
  window.end_ns = monotonic_now().count;
  window.work = work_given(stage_folder_) - at_begin;
  for (int64_t waited = 0; waited < kLongestEnd && page_->recording.load() > 0 && goes_on();
       waited += kStep / 10)
    sleep_for(kStep / 10);
  const Status added = add_window(stage_folder_, window);
  page_->holder.store(0);
  if (!added) return added.error();
  return window;
}

bool WindowControl::stop() {
  if (page_->holder.load() == 0) return false;
  page_->stops.fetch_add(1);
  return true;
}

}  // namespace diogenes::launcher
