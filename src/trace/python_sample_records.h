// Frames of Python that are read from outside of the program, some hundred times a second of each thread that runs
// (launcher/sampling/python_sampler.h): three files of a process's folder. `python-threads` says where the interpreter's thread
// states are; `python-sampled` has the functions (CodeRecords behind a FileHeader), and `python-samples` what was read of them.
// Files that were cut are taken as far as they go.
#pragma once
#include "trace/python_records.h"

namespace diogenes {

// A frame's module, in place of Frame::kPython: its code is in `python-sampled`. In no stack.
inline constexpr uint64_t kPythonSampled = 0xfffc;

inline constexpr const char* kPythonThreadsFile = "python-threads";
inline constexpr const char* kPythonSampledFile = "python-sampled";
inline constexpr const char* kPythonSamplesFile = "python-samples";

// [src/python -> launcher/sampling] So many at most; the later one of two of a thread.
inline constexpr uint32_t kMostPythonThreads = 1024;
struct PythonThreadRecord {
  uint64_t state, runtime, code_type;  // addresses: PyThreadState, _PyRuntime, PyCode_Type
  uint32_t version;                    // 0x030b07f0
  uint32_t tid;                        // written last; 0 ends the table
};
static_assert(sizeof(PythonThreadRecord) == 32);

// [launcher/sampling -> analysis/samples] Followed by `frames` words, innermost first: Frame::packed of kPythonSampled.
struct PythonSampleRecord {
  int64_t at_ns;      // CLOCK_MONOTONIC
  int64_t weight_ns;  // of time in which the thread ran; 0: read behind a sample of the CPU, which has it
  uint32_t tid;
  uint32_t frames;
};
static_assert(sizeof(PythonSampleRecord) == 24);

}  // namespace diogenes
