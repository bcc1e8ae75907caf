// What the library for NVTX wrote (trace/nvtx_ranges.h): any file is read, or left out.
#include "target.h"
#include "trace/nvtx_ranges.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  write_file(scratch_folder() / "nvtx-here-1.0", bytes);
  const std::vector<NvtxRanges> read = read_nvtx_ranges(scratch_folder());
  require(read.size() <= 1, "one file is one process");
  for (const NvtxRanges& file : read) {
    require(file.names.size() <= kMostNvtxNames, "there are no more names than a file holds");
    for (size_t i = 0; i < file.marks.size(); ++i)
      require(file.marks[i].at.count > 0 && (i == 0 || file.marks[i - 1].at <= file.marks[i].at),
              "marks are in order");
  }
}

}  // namespace diogenes::fuzz
