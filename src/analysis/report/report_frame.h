// A frame of a stack, as views show it. Part of the report.
#pragma once
#include <cstdint>
#include <string>

namespace diogenes {

// Whose code a frame is (frame_owner.h).
enum class FrameOwner : uint8_t { application, library, runtime };

struct ReportFrame {
  std::string function, file;
  int line = 0;
  std::string module;
  uint64_t offset = 0;
  bool inlined = false;
  int column = 0;  // 0: unknown
  FrameOwner owner = FrameOwner::application;
  std::string language;  // "python", "c++"; "": not known
  bool waits = false;    // of a thread that waits for what this one does (PyTorch's backward)
};

}  // namespace diogenes
