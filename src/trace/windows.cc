#include "trace/windows.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/mapped_file.h"

namespace diogenes {

namespace fs = std::filesystem;

std::vector<Window> read_windows(const fs::path& stage_folder) {
  std::vector<Window> windows;
  std::error_code failed;
  if (!fs::exists(stage_folder / kWindowsFile, failed)) return windows;
  auto file = MappedFile::open(stage_folder / kWindowsFile);
  if (!file) return windows;
  for (uint64_t at = 0; const auto* window = file->at<Window>(at); at += sizeof(Window))
    if (window->begin_ns > 0 && window->end_ns >= window->begin_ns && window->end_ns <= kLatestTime)
      windows.push_back(*window);
  return windows;
}

double slowdown(const Window& window) {
  constexpr uint64_t kLeast = 20;  // counts: one more or less is 5%
  const auto recorded_ns = static_cast<double>(window.end_ns - window.begin_ns);
  if (window.undisturbed_work < kLeast || window.work < kLeast || window.undisturbed_ns <= 0 ||
      recorded_ns <= 0)
    return 0;
  return static_cast<double>(window.undisturbed_work) / static_cast<double>(window.undisturbed_ns) *
         recorded_ns / static_cast<double>(window.work);
}

Status add_window(const fs::path& stage_folder, const Window& window) {
  const fs::path path = stage_folder / kWindowsFile;
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const ssize_t written = file < 0 ? -1 : write(file, &window, sizeof window);
  const int reason = errno;
  if (file >= 0) close(file);
  if (written == sizeof window) return Done{};
  return error("cannot write %s: %s; is the disk full?", path.c_str(), strerror(reason));
}

void clip(StageTrace& stage, const Window& window) {
  for (ProcessTrace& trace : stage.processes) {
    ProcessFile& process = trace.process;
    process.started_ns = std::max(process.started_ns, window.begin_ns);
    process.ended_ns = process.ended_ns > 0 ? std::min(process.ended_ns, window.end_ns) : window.end_ns;
    process.end = ProcessEnd::orderly;
    for (ThreadTrace& thread : trace.threads) thread.clip(window.begin_ns, window.end_ns);
  }
}

}  // namespace diogenes
