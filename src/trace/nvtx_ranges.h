// When a process was inside NVTX ranges of the name that `--region` gave: written by src/nvtx, read for
// analysis/program/profiled_span.h. A file of each process that uses NVTX, `nvtx-HOST-PID.K` in the stage's folder (K: from 0,
// the first that is free): NvtxHeader, then from kNvtxMarksAt on an NvtxMark for each begin and each end of such a range, in
// any order. The file grows in steps, and threads write beside each other: a mark that has no time is none, but others
// may follow it. All little-endian.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"

namespace diogenes {

inline constexpr const char* kRegionVariable = "DIOGENES_REGION";  // the name, for the library in the program
inline constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";
inline constexpr const char* kNvtxFilePrefix = "nvtx-";

inline constexpr int kMostNvtxNames = 64;
inline constexpr int kMostRegionBytes = 255;  // of a name
inline constexpr uint64_t kNvtxMarksAt = 8192;
inline constexpr char kNvtxMagic[8] = {'D', 'I', 'O', 'N', 'V', 'T', 'X', '1'};

// A name that the program gave, by its hash.
struct NvtxName {
  uint64_t hash;     // 0: no name
  uint32_t entered;  // 1: a range of this name was entered; 0: it was registered only
  char text[52];     // UTF-8; ends in 0, and may be cut
};

struct NvtxHeader {
  char magic[8];
  int32_t pid;
  uint32_t more_names;  // 1: there were more than `names` holds
  int64_t created_ns;
  uint64_t lost;  // begins and ends that have no mark
  char host[64];
  NvtxName names[kMostNvtxNames];
};
static_assert(sizeof(NvtxHeader) <= kNvtxMarksAt && sizeof(NvtxName) == 64);

struct NvtxMark {
  int64_t at_ns;   // written last; 0: none
  int32_t change;  // 1: a range was entered, -1: left
  uint32_t reserved;
};
static_assert(sizeof(NvtxMark) == 16);

// One file, read.
struct NvtxRanges {
  struct Mark {
    Nanoseconds at;
    int change = 0;
  };
  std::string host;
  int32_t pid = 0;
  Nanoseconds created;
  std::vector<Mark> marks;         // by time
  std::vector<std::string> names;  // of ranges that were entered
  bool more_names = false;
  uint64_t lost = 0;
};

// Of all processes of a stage, by host, pid and time; what is no such file is left out.
std::vector<NvtxRanges> read_nvtx_ranges(const std::filesystem::path& stage_folder);

}  // namespace diogenes
