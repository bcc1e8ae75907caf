#include "analysis/profile/hot_loops.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "trace/python_sample_records.h"

namespace diogenes {
namespace {

constexpr size_t kMostLoops = 20, kMostDescribed = 200, kFewestSamples = 3;
constexpr double kLeastShare = 0.02;  // of the idle time

using Names =
    std::vector<ReportFrame>;  // of one place in the code: innermost first, the function that holds it last

// What one loop of the machine code got.
struct Found {
  const CodeLoop* code = nullptr;
  uint32_t process = 0;
  uint64_t module = 0;  // of the process
  double seconds = 0;
  uint64_t samples = 0;
  std::map<std::tuple<std::string, std::string, int>, double> callers;  // by function, file, line
};

// One loop of the source, and what it is in the machine's code.
struct SourceLoop {
  ReportIdle::Loop report;
  std::vector<const CodeLoop*> code;
};

bool same_function(const ReportFrame& one, const ReportFrame& other) {
  return one.function == other.function && one.file == other.file;
}

class HotLoops {
 public:
  explicit HotLoops(const HotLoopInput& input) : in_(input) {}

  std::vector<ReportIdle::Loop> find() {
    for (const IdleSample& one : in_.samples) add(one);
    std::vector<Found> found;
    for (auto& [place, one] : loops_)
      if (one.samples >= kFewestSamples) found.push_back(std::move(one));
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& one, const Found& other) { return one.seconds > other.seconds; });
    if (found.size() > kMostDescribed) found.resize(kMostDescribed);
    std::vector<SourceLoop> out;
    for (const Found& one : found) unite(out, one);
    std::vector<ReportIdle::Loop> loops;
    for (SourceLoop& loop : out)
      if (loop.report.seconds >= kLeastShare * in_.idle_s) loops.push_back(std::move(loop.report));
    std::stable_sort(loops.begin(), loops.end(),
                     [](const auto& one, const auto& other) { return one.seconds > other.seconds; });
    if (loops.size() > kMostLoops) loops.resize(kMostLoops);
    return loops;
  }

 private:
  const Names& named(uint32_t process, Frame frame) {
    auto [found, fresh] = names_.try_emplace({process, frame.packed});
    if (fresh) found->second = in_.named(process, frame);
    return found->second;
  }

  bool is_own(uint32_t process, Frame frame) {
    if (frame.module() >= kPythonSampled) return false;
    const Names& names = named(process, frame);
    return !names.empty() && names.back().owner == FrameOwner::application;
  }

  // Of the functions at one place, inlined ones among them.
  static const ReportFrame& innermost_own(const Names& names) {
    const auto own = std::find_if(names.begin(), names.end(), [](const ReportFrame& frame) {
      return frame.owner == FrameOwner::application;
    });
    return own != names.end() ? *own : names.back();
  }

  void add(const IdleSample& one) {
    const std::vector<Frame>& frames = one.sample->frames;
    const auto own = std::find_if(frames.begin(), frames.end(),
                                  [&](const Frame& frame) { return is_own(one.process, frame); });
    if (own == frames.end()) return;
    const std::string module = named(one.process, *own).back().module;
    const CodeLoop* code = loop_at(one.process, *own, module);
    if (!code) return;
    Found& found = loops_[{module, code->head}];
    found.code = code;
    found.process = one.process;
    found.module = own->module();
    found.seconds += one.seconds;
    ++found.samples;
    const auto caller =
        std::find_if(own + 1, frames.end(), [&](const Frame& frame) { return is_own(one.process, frame); });
    if (caller == frames.end()) return;
    const ReportFrame& by = innermost_own(named(one.process, *caller));
    found.callers[{by.function, by.file, by.line}] += one.seconds;
  }

  // Null: none, or it calls the driver.
  const CodeLoop* loop_at(uint32_t process, Frame frame, const std::string& module) {
    auto [found, fresh] = innermost_.try_emplace({process, frame.packed}, nullptr);
    if (!fresh) return found->second;
    const CodeLoop* code = in_.innermost(process, frame);
    if (!code) return nullptr;
    auto [calls, first] = calls_driver_.try_emplace(code, false);
    if (first)
      for (const auto& [begin, end] : code->blocks) calls->second |= in_.calls_driver(module, begin, end);
    return found->second = calls->second ? nullptr : code;
  }

  // Counted from the function that holds the code (1) inwards. Null: nothing is inlined so deep.
  static const ReportFrame* at(const Names& names, size_t depth) {
    return depth <= names.size() ? &names[names.size() - depth] : nullptr;
  }

  // How deep all places are in the same functions.
  static size_t common_depth(const std::vector<const Names*>& places) {
    const auto all_in = [&](size_t depth) {
      const ReportFrame* first = at(*places.front(), depth);
      return first && std::all_of(places.begin(), places.end(), [&](const Names* names) {
               const ReportFrame* there = at(*names, depth);
               return there && same_function(*first, *there);
             });
    };
    size_t depth = 1;
    while (all_in(depth + 1)) ++depth;
    return depth;
  }

  std::vector<const Names*> places_of(const Found& one) {
    std::vector<const Names*> places;
    for (const auto& [begin, end] : one.code->blocks)
      for (const uint64_t offset : {begin, end - 1})
        if (const Names& names = named(one.process, Frame::of(one.module, offset)); !names.empty())
          places.push_back(&names);
    return places;
  }

  ReportIdle::Loop described(const Found& one) {
    ReportIdle::Loop loop;
    loop.seconds = one.seconds;
    loop.samples = one.samples;
    loop.offset = one.code->head;
    const std::vector<const Names*> places = places_of(one);
    if (places.empty()) return loop;
    const size_t depth = common_depth(places);
    const ReportFrame& function = *at(*places.front(), depth);
    loop.function = function.function;
    loop.file = function.file;
    loop.module = function.module;
    for (const Names* names : places) {
      const ReportFrame* there = at(*names, depth);
      if (!there || there->line <= 0 || there->file != loop.file) continue;
      loop.first_line = loop.first_line == 0 ? there->line : std::min(loop.first_line, there->line);
      loop.last_line = std::max(loop.last_line, there->line);
    }
    set_caller(one, *places.front(), depth, loop);
    return loop;
  }

  // The application's function into which it was inlined, or the one that was seen to call it most.
  static void set_caller(const Found& one, const Names& names, size_t depth, ReportIdle::Loop& loop) {
    while (--depth > 0)
      if (const ReportFrame* by = at(names, depth); by->owner == FrameOwner::application) {
        loop.caller = by->function, loop.caller_file = by->file, loop.caller_line = by->line;
        return;
      }
    const auto most = std::max_element(one.callers.begin(), one.callers.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != one.callers.end()) std::tie(loop.caller, loop.caller_file, loop.caller_line) = most->first;
  }

  static bool same_lines(const ReportIdle::Loop& one, const ReportIdle::Loop& other) {
    return one.first_line > 0 && (one.first_line == other.first_line || one.last_line == other.last_line);
  }
  static bool overlaps(const CodeLoop& one, const CodeLoop& other) {
    return one.lowest < other.highest && other.lowest < one.highest;
  }

  void unite(std::vector<SourceLoop>& out, const Found& one) {
    ReportIdle::Loop loop = described(one);
    for (SourceLoop& made : out) {
      ReportIdle::Loop& other = made.report;
      const bool same = other.function == loop.function && other.file == loop.file &&
                        other.module == loop.module && same_lines(other, loop);
      const auto nested = [&](const CodeLoop* code) { return overlaps(*code, *one.code); };
      if (!same || std::any_of(made.code.begin(), made.code.end(), nested)) continue;
      other.seconds += loop.seconds;
      other.samples += loop.samples;
      other.first_line = std::min(other.first_line, loop.first_line);
      other.last_line = std::max(other.last_line, loop.last_line);
      made.code.push_back(one.code);
      return;
    }
    out.push_back({std::move(loop), {one.code}});
  }

  const HotLoopInput& in_;
  std::map<std::pair<uint32_t, uint64_t>, Names> names_;                // by process and Frame::packed
  std::map<std::pair<uint32_t, uint64_t>, const CodeLoop*> innermost_;  // by process and Frame::packed
  std::map<const CodeLoop*, bool> calls_driver_;
  std::map<std::pair<std::string, uint64_t>, Found> loops_;  // by file and head
};

}  // namespace

std::vector<ReportIdle::Loop> find_hot_loops(const HotLoopInput& input) { return HotLoops(input).find(); }

}  // namespace diogenes
