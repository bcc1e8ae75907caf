#include "analysis/cubins/gpu_source_loops.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace diogenes {
namespace {

// Instructions that are looked at for the lines of loops, each once for each loop that holds it. A kernel of CUB's needs less
// than 10,000.
constexpr uint32_t kMostSteps = 2'000'000;
// Of the branches back of all loops; loops behind have no lines.
constexpr size_t kMostFrames = 1'000'000;

// Of a loop of the code.
struct LoopLines {
  std::vector<GpuFrame> frames;  // of the branch back
  uint32_t first = 0, last = 0;
};

// What is the same text is the same place in memory, so texts need not be compared.
using FrameKey = std::tuple<const void*, const void*, uint32_t>;
FrameKey key_of(const GpuFrame& frame, bool with_line) {
  return {frame.function.data(), frame.file.data(), with_line ? frame.line : 0};
}

// Is `frames` within the function that `loop` ends in, by the same calls?
bool is_within(const std::vector<GpuFrame>& frames, const std::vector<GpuFrame>& loop) {
  if (loop.empty() || frames.size() < loop.size()) return false;
  for (size_t i = 0; i < loop.size(); ++i) {
    const bool is_call = i + 1 < loop.size();
    if (key_of(frames[i], is_call) != key_of(loop[i], is_call)) return false;
  }
  return true;
}

std::vector<LoopLines> lines_of_loops(const Cubin& cubin, GpuFunctionIndex function, const GpuFlow& flow) {
  std::vector<LoopLines> found;
  size_t frames_kept = 0;
  for (const GpuLoop& loop : flow.loops()) {
    LoopLines& lines = found.emplace_back();
    if (frames_kept >= kMostFrames) continue;
    lines.frames = cubin.frames_at({function, loop.back});
    frames_kept += lines.frames.size();
    if (!lines.frames.empty()) lines.first = lines.last = lines.frames.back().line;
  }
  uint32_t left = kMostSteps;
  for (const GpuBlock& block : flow.blocks()) {
    const uint32_t innermost = flow.loop_at(block.begin);
    if (innermost == GpuFlow::kNone) continue;
    for (uint32_t offset = block.begin; offset < block.end && left > 0; offset += kGpuInstructionBytes) {
      const std::vector<GpuFrame> frames = cubin.frames_at({function, offset});
      for (uint32_t at = innermost; at != GpuLoop::kNone && left > 0; at = flow.loops()[at].parent, --left) {
        LoopLines& lines = found[at];
        const uint32_t line = is_within(frames, lines.frames) ? frames[lines.frames.size() - 1].line : 0;
        if (line == 0) continue;
        lines.first = lines.first == 0 ? line : std::min(lines.first, line);
        lines.last = std::max(lines.last, line);
      }
    }
  }
  return found;
}

// By the source loop around it, the calls around it, and its function and file; then by its first line, and by its last one.
using Around = std::vector<FrameKey>;
using Key = std::tuple<uint32_t, Around, uint32_t>;

Around around(const std::vector<GpuFrame>& frames) {
  Around key;
  for (size_t i = 0; i < frames.size(); ++i) key.push_back(key_of(frames[i], i + 1 < frames.size()));
  return key;
}

}  // namespace

GpuSourceLoops find_gpu_source_loops(const Cubin& cubin, GpuFunctionIndex function, const GpuFlow& flow) {
  std::vector<LoopLines> lines = lines_of_loops(cubin, function, flow);
  GpuSourceLoops found;
  found.of_code.assign(flow.loops().size(), GpuSourceLoop::kNone);
  std::map<Key, uint32_t> by_first, by_last;
  for (size_t i = flow.loops().size(); i-- > 0;) {  // outer ones first
    const GpuLoop& code = flow.loops()[i];
    LoopLines& own = lines[i];
    const uint32_t parent = code.parent == GpuLoop::kNone ? GpuSourceLoop::kNone : found.of_code[code.parent];
    auto index = static_cast<uint32_t>(found.loops.size());
    if (own.first != 0) {
      const Around key = around(own.frames);
      if (const auto same = by_first.find({parent, key, own.first}); same != by_first.end())
        index = same->second;
      if (const auto same = by_last.find({parent, key, own.last}); same != by_last.end())
        index = std::min(index, same->second);
      by_first.try_emplace({parent, key, own.first}, index);
      by_last.try_emplace({parent, key, own.last}, index);
    }
    if (index == found.loops.size()) {
      const uint32_t depth = parent == GpuSourceLoop::kNone ? 1 : found.loops[parent].depth + 1;
      if (!own.frames.empty()) own.frames.back().line = own.first;
      found.loops.push_back({std::move(own.frames), own.last, parent, depth, {}});
    } else if (GpuSourceLoop& loop = found.loops[index]; own.first != 0) {
      loop.frames.back().line = std::min(loop.frames.back().line, own.first);
      loop.last_line = std::max(loop.last_line, own.last);
    }
    found.of_code[i] = index;
    found.loops[index].code.push_back(static_cast<uint32_t>(i));
  }
  return found;
}

}  // namespace diogenes
