// Did anybody read the terminal behind our stdin? The kernel notes when a read of a terminal last brought something, as the
// terminal's access time, in steps of 8 s. Set back by more than that, any later read changes it. Nothing of the program is
// looked at.
// Not seen: the end of the input (Ctrl-D), which later runs read, too; on kernels that note it elsewhere, reads of /dev/tty; on
// a terminal of another user, reads in the 8 s after Enter. A pager beside the program that reads keys is taken for it.
#pragma once
#include <cstdint>

namespace diogenes::launcher {

class TerminalReads {
 public:
  // From now on. In the background only the shell reads, so then, and where stdin is no terminal, nothing is looked at.
  void watch();
  // Was it read since the first watch(), as far as it was watched?
  bool seen();
  // Others read it from now on: the job is about to stop.
  void pause();

 private:
  int64_t accessed_ = 0;
  bool watches_ = false, seen_ = false;
};

}  // namespace diogenes::launcher
