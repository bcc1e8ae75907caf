#include "launcher/process/terminal_reads.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace diogenes::launcher {
namespace {

constexpr int64_t kSetBack = 16;  // seconds: two steps

timespec access_time() {
  struct stat status {};
  fstat(STDIN_FILENO, &status);
  return status.st_atim;
}

}  // namespace

void TerminalReads::watch() {
  watches_ = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
  if (!watches_) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[] = {{now.tv_sec - kSetBack, 0}, {0, UTIME_OMIT}};
  futimens(STDIN_FILENO, times);  // who does not own the terminal may not
  accessed_ = access_time().tv_sec;
}

void TerminalReads::pause() {
  seen_ = seen();
  watches_ = false;
}

bool TerminalReads::seen() { return seen_ || (watches_ && access_time().tv_sec != accessed_); }

}  // namespace diogenes::launcher
