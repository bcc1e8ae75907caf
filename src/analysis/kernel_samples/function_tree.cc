#include "analysis/kernel_samples/function_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/cubins/gpu_flow.h"
#include "analysis/cubins/gpu_source_loops.h"

namespace diogenes {
namespace {

using TreeKind = FunctionTree::Kind;

constexpr size_t kMostTreeNodes = 200'000;
constexpr size_t kDeepestTree = 64;  // nodes above one; those further in are left out

class FunctionTreeBuilder {
 public:
  FunctionTreeBuilder(const Cubin& cubin, GpuFunctionIndex function,
                      std::span<const InstructionSample> samples, uint32_t issued, size_t most_calls)
      : cubin_(cubin),
        function_(function),
        samples_(samples),
        issued_(issued),
        most_calls_(most_calls),
        flow_(cubin, function) {
    out_.nodes.push_back({.function = cubin.function(function).name});
    depth_.push_back(0);
    out_.loops_known = flow_.all_loops_known();
    if (!flow_.loops().empty()) loops_ = find_gpu_source_loops(cubin, function, flow_);
  }

  FunctionTree build() {
    for (size_t i = 0; i < samples_.size();) {
      const uint32_t offset = samples_[i].offset;
      SampleCounts& own = out_.nodes[node_at(offset, true)].own;
      for (; i < samples_.size() && samples_[i].offset == offset; ++i)
        own.add(samples_[i].reason, samples_[i].samples, samples_[i].latency);
    }
    add_calls();
    return std::move(out_);
  }

 private:
  // What is the same text is the same place in memory (gpu_lines.h).
  struct Key {
    uint32_t parent;
    TreeKind kind;
    const char *function, *file;
    uint32_t line, last_line, called_line;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = key.parent;
      for (const uint64_t part :
           {reinterpret_cast<uint64_t>(key.function), reinterpret_cast<uint64_t>(key.file),
            uint64_t{key.line} << 32 | key.last_line,
            uint64_t{key.called_line} << 8 | static_cast<uint64_t>(key.kind)})
        hash = (hash ^ part) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
      return hash;
    }
  };

  uint32_t child(const FunctionTree::Node& node) {
    const Key key{node.parent,
                  node.kind,
                  node.function.data(),
                  node.file.data(),
                  node.kind == TreeKind::inlined ? 0 : node.line,
                  node.last_line,
                  node.called_line};
    if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
    if (out_.nodes.size() >= kMostTreeNodes || depth_[node.parent] >= kDeepestTree) return node.parent;
    const auto number = static_cast<uint32_t>(out_.nodes.size());
    numbers_.emplace(key, number);
    depth_.push_back(depth_[node.parent] + 1);
    out_.nodes.push_back(node);
    return number;
  }

  struct Place {
    uint32_t node = 0;
    size_t frames = 1;                 // of those around the place: how many are nodes
    std::vector<GpuFrame> above = {};  // these; the line is that of the call, of the last one none
  };

  static bool same_function(const GpuFrame& one, const GpuFrame& other) {
    return one.function.data() == other.function.data() && one.file.data() == other.file.data();
  }
  // Do these frames begin with those of the place?
  static bool goes_on(const Place& place, const std::vector<GpuFrame>& frames) {
    if (frames.size() < place.frames) return false;
    for (size_t i = 0; i < place.frames && i < place.above.size(); ++i) {
      if (!same_function(frames[i], place.above[i])) return false;
      if (i + 1 < place.frames && frames[i].line != place.above[i].line) return false;
    }
    return true;
  }
  // Nodes for the inlined functions of `frames` below the place.
  void unfold(Place& place, const std::vector<GpuFrame>& frames) {
    if (!goes_on(place, frames)) return;
    place.above = frames;
    for (; place.frames < frames.size(); ++place.frames) {
      const GpuFrame& frame = frames[place.frames];
      place.node = child({.parent = place.node,
                          .kind = TreeKind::inlined,
                          .function = frame.function,
                          .file = frame.file,
                          .line = frame.line,
                          .called_line = frames[place.frames - 1].line});
    }
    see_line(place.node, frames.back());
  }

  // Of the function, inlined or not, that the node is or lies in.
  void see_line(uint32_t at, const GpuFrame& frame) {
    while (out_.nodes[at].kind == TreeKind::loop) at = out_.nodes[at].parent;
    FunctionTree::Node& node = out_.nodes[at];
    if (frame.line == 0 || node.function.data() != frame.function.data()) return;
    if (node.file.empty()) node.file = frame.file;
    if (node.file.data() == frame.file.data() && (node.line == 0 || frame.line < node.line))
      node.line = frame.line;
  }

  // Of a loop of the source: its node.
  const Place& place_of_loop(uint32_t number) {
    std::vector<uint32_t> missing;
    for (uint32_t at = number; at != GpuSourceLoop::kNone && !of_loop_.contains(at);
         at = loops_.loops[at].parent)
      missing.push_back(at);
    for (; !missing.empty(); missing.pop_back()) {
      const GpuSourceLoop& loop = loops_.loops[missing.back()];
      Place place = loop.parent == GpuSourceLoop::kNone ? Place{} : of_loop_.at(loop.parent);
      if (!loop.frames.empty()) {
        unfold(place, loop.frames);
        place.node = child({.parent = place.node,
                            .kind = TreeKind::loop,
                            .function = loop.frames.back().function,
                            .file = loop.frames.back().file,
                            .line = loop.frames.back().line,
                            .last_line = loop.last_line});
      }
      of_loop_.emplace(missing.back(), std::move(place));
    }
    return of_loop_.at(number);
  }

  // Of an instruction: the node of its line, or of what is around that.
  uint32_t node_at(uint32_t offset, bool with_line) {
    Place place;
    if (const uint32_t loop = flow_.loop_at(offset); loop != GpuFlow::kNone && loop < loops_.of_code.size())
      place = place_of_loop(loops_.of_code[loop]);
    const std::vector<GpuFrame> frames = cubin_.frames_at({function_, offset});
    if (frames.empty()) return place.node;
    unfold(place, frames);
    const GpuFrame& own = frames.back();
    if (!with_line || own.line == 0) return place.node;
    return child({.parent = place.node,
                  .kind = TreeKind::line,
                  .function = own.function,
                  .file = own.file,
                  .line = own.line});
  }

  double issued_in(const GpuBlock& block) const {
    const auto first =
        std::lower_bound(samples_.begin(), samples_.end(), block.begin,
                         [](const InstructionSample& one, uint32_t at) { return one.offset < at; });
    double issued = 0;
    for (auto at = first; at != samples_.end() && at->offset < block.end; ++at)
      if (at->reason == issued_) issued += at->samples;
    return issued;
  }

  void add_calls() {
    std::optional<std::vector<GpuFunctionIndex>> candidates;
    const uint32_t section = cubin_.function(function_).section;
    for (const GpuControl& control : flow_.control()) {
      const ControlKind kind = control.instruction.kind;
      std::vector<GpuFunctionIndex> callees;
      if (kind == ControlKind::call || kind == ControlKind::call_by_name) {
        callees.push_back(control.callee);
      } else if (kind == ControlKind::call_through_register) {
        if (!candidates) candidates = cubin_.candidates(function_);
        callees = *candidates;
      }
      std::erase_if(callees, [&](GpuFunctionIndex one) {
        return !one.valid() || cubin_.function(one).section != section;
      });
      const uint32_t number = flow_.block_at(control.offset);
      if (callees.empty() || number == GpuFlow::kNone) continue;
      if (out_.calls.size() + callees.size() > most_calls_) return;
      const GpuBlock& block = flow_.blocks()[number];
      const double issued = issued_in(block) / static_cast<double>(callees.size());
      const uint32_t instructions = (block.end - block.begin) / kGpuInstructionBytes;
      const std::vector<GpuFrame> frames = cubin_.frames_at({function_, control.offset});
      const uint32_t line = frames.empty() ? 0 : frames.back().line;
      const uint32_t node = node_at(control.offset, false);
      for (const GpuFunctionIndex callee : callees)
        out_.calls.push_back({callee, node, line, issued / std::max(instructions, 1u), issued});
    }
  }

  const Cubin& cubin_;
  const GpuFunctionIndex function_;
  const std::span<const InstructionSample> samples_;
  const uint32_t issued_;
  const size_t most_calls_;
  const GpuFlow flow_;
  GpuSourceLoops loops_;
  FunctionTree out_;
  std::vector<size_t> depth_;  // of each node
  std::unordered_map<Key, uint32_t, KeyHash> numbers_;
  std::map<uint32_t, Place> of_loop_;
};

}  // namespace

FunctionTree make_function_tree(const Cubin& cubin, GpuFunctionIndex function,
                                std::span<const InstructionSample> samples, uint32_t issued,
                                size_t most_calls) {
  return FunctionTreeBuilder(cubin, function, samples, issued, most_calls).build();
}

}  // namespace diogenes
