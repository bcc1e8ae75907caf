// Who adds the frames of CPython to stacks: a table of functions. src/python makes one, in a library of its
// own that is preloaded where the program runs Python; the agent finds it by name.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace diogenes {

// The versions whose frames can be read (src/python/layout.h): major << 8 | minor.
inline constexpr uint32_t kOldestPython = 0x0308, kNewestPython = 0x030e;

// What the agent does for it.
struct PythonServices {
  void* (*map_part)(const char* name, uint64_t offset, size_t bytes, void* where);  // process_folder.h
  // A stack with these frames behind its own. kNoStack: there is no room (counted).
  uint32_t (*extend)(uint32_t stack, const Frame* frames, int count, uint32_t cut, bool in_signal);
  uintptr_t (*symbol)(const void* image, const char* name);  // what a loaded file exports: its address, or 0
};

struct PythonSource {
  uint64_t bytes;                                    // of this structure
  void (*start)(const PythonServices& services);     // once, before all else
  void (*loaded)(const void* image);                 // a file was; never in a signal's handler
  void (*unloaded)(uintptr_t begin, uintptr_t end);  // what lay here is gone
  // The stack with the frames of Python that the calling thread is in, or as it was.
  uint32_t (*add)(uint32_t stack, bool in_signal, PythonSummary& summary);
  void (*forget)();  // in a forked child: the parent's stacks and files are not ours
};

inline constexpr const char* kPythonSourceSymbol = "diogenes_python_source";  // a PythonSource

}  // namespace diogenes
