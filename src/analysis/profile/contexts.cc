#include "analysis/profile/contexts.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analysis/profile/sample_holder.h"
#include "analysis/runs/recording_cost.h"
#include "analysis/symbols/python_calls.h"

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;

constexpr size_t kMostSampledFrames = 64;  // below a context
constexpr size_t kMostIdleGaps = 200;

// What calls main, or a thread's function, is the same for all, and tells nothing.
bool is_outermost(const ReportFrame& frame) {
  return frame.function == "main" || (frame.language == "python" && frame.function == "<module>");
}
bool starts_threads(const ReportFrame& frame) {
  static constexpr std::string_view kNames[] = {
      "clone",        "clone3", "__clone",           "__clone3",
      "start_thread", "_start", "__libc_start_main", "__libc_start_call_main"};
  return std::find(std::begin(kNames), std::end(kNames), std::string_view(frame.function)) !=
         std::end(kNames);
}

// Code without a name: of the runtime's, and below other code of its file. Frames that start a thread are no callers, either.
bool tells_nothing(const ReportFrame& frame, const ReportFrame* above) {
  if (starts_threads(frame)) return true;
  if (!frame.function.empty()) return false;
  return frame.owner == FrameOwner::runtime ||
         (above != nullptr && above->function.empty() && above->module == frame.module);
}

class Tree {
 public:
  explicit Tree(const ContextInput& input) : in_(input) {
    out_.nodes.push_back({.kind = Kind::root, .name = "the whole program"});
  }

  Contexts build() {
    for (uint32_t p = 0; p < in_.tracing.processes.size(); ++p) add(p);
    for (const GpuIdle& idle : in_.idle) {
      out_.idle.phase_s += idle.phase.seconds();
      out_.idle.idle_s += idle.idle.seconds();
    }
    add_idle_of_loop();
    add_idle_gaps();
    add_gpu();
    for (const auto& [site, gain] : in_.recoverable_s)
      out_.nodes[call_of(SiteIndex{site})].recoverable_s += gain;
    unite_lines();
    return std::move(out_);
  }

 private:
  using Key =
      std::tuple<uint32_t, Kind, std::string, std::string, int>;  // parent, kind, name, file or module, line

  struct FrameBelow {
    uint32_t parent;
    int called_line;
    const ReportFrame* frame;
    bool operator==(const FrameBelow&) const = default;
  };
  struct FrameBelowHash {
    size_t operator()(const FrameBelow& one) const {
      const uint64_t place = uint64_t{one.parent} << 32 | static_cast<uint32_t>(one.called_line);
      return std::hash<const void*>()(one.frame) ^ place * 0x9e3779b97f4a7c15;
    }
  };

  // A site's call, and the innermost of the application's frames above it.
  struct SiteNodes {
    uint32_t call = 0, application = 0;
  };

  uint32_t child(uint32_t parent, Kind kind, std::string name, std::string where, int called_line) {
    auto [found, fresh] = nodes_.try_emplace({parent, kind, name, std::move(where), called_line},
                                             static_cast<uint32_t>(out_.nodes.size()));
    if (!fresh) return found->second;
    ReportContext& node = out_.nodes.emplace_back();
    node.parent = parent;
    node.kind = kind;
    node.name = std::move(name);
    node.called_line = called_line;
    depth_.push_back(depth_[parent] + 1);
    return found->second;
  }

  // Frames stay where they are, so what was found of one is found by its address: samples ask for the same ones by the million.
  uint32_t frame_child(uint32_t parent, const ReportFrame& frame, int called_line) {
    auto [known, fresh] = frame_children_.try_emplace({parent, called_line, &frame}, 0);
    if (fresh) known->second = add_frame(parent, frame, called_line);
    return known->second;
  }

  uint32_t add_frame(uint32_t parent, const ReportFrame& frame, int called_line) {
    std::string name = frame.function;
    if (name.empty()) name = module_of(frame);
    const uint32_t node =
        child(parent, Kind::frame, name, frame.file.empty() ? frame.module : frame.file, called_line);
    ReportContext& made = out_.nodes[node];
    if (made.file.empty() && made.module.empty()) {
      made.file = frame.file;
      made.module = frame.module;
      made.language = frame.language;
      made.owner = frame.owner;
      made.call = python_call(frame);
    }
    made.line = first_of(made.line, frame.line);
    return node;
  }

  static int first_of(int line, int other) {  // 0: not known
    return line <= 0 || other <= 0 ? std::max(line, other) : std::min(line, other);
  }

  // A function is one, whoever calls it: exports tell functions apart by their lines, too.
  void unite_lines() {
    std::map<std::pair<std::string, std::string>, int> lines;  // by name and file
    for (const ReportContext& node : out_.nodes) {
      int& line = lines[{node.name, node.file}];
      line = first_of(line, node.line);
    }
    for (ReportContext& node : out_.nodes)
      if (node.kind == Kind::frame) node.line = lines[{node.name, node.file}];
  }

  static std::string module_of(const ReportFrame& frame) {
    const std::string file = frame.module.substr(frame.module.rfind('/') + 1);
    return file.empty() ? "generated code" : "code of " + file;
  }

  const SiteNodes& nodes_of(SiteIndex site) {
    auto [found, fresh] = sites_.try_emplace(site.value);
    if (!fresh) return found->second;
    const std::vector<ReportFrame>& stack = in_.stack(site);
    size_t outermost = stack.size(), innermost = 0;
    for (size_t i = stack.size(); i-- > 0;)
      if (is_outermost(stack[i])) {
        outermost = i + 1;
        break;
      }
    while (outermost > 0 && outermost == stack.size() && starts_threads(stack[outermost - 1])) --outermost;
    for (size_t i = outermost; i > 0 && starts_threads(stack[i - 1]); --i) outermost = i - 1;
    while (innermost < outermost && stack[innermost].owner == FrameOwner::runtime) ++innermost;
    uint32_t node = 0, application = 0;
    int line = 0;
    const ReportFrame* above = nullptr;
    for (size_t i = outermost; i-- > innermost;) {
      if (tells_nothing(stack[i], above)) continue;
      node = frame_child(node, stack[i], line);
      line = stack[i].line;
      above = &stack[i];
      if (stack[i].owner == FrameOwner::application) application = node;
    }
    found->second.call = child(node, Kind::call, in_.called(site), "", line);
    found->second.application = application != 0 ? application : node;
    return found->second;
  }
  uint32_t call_of(SiteIndex site) { return nodes_of(site).call; }

  // Whose time it is between a call of one site and the next one, of another.
  uint32_t between(SiteIndex before, SiteIndex after) {
    auto [found, fresh] = between_.try_emplace(uint64_t{before.value} << 32 | after.value, 0);
    if (!fresh) return found->second;
    const SiteNodes one = nodes_of(before), other = nodes_of(after);
    uint32_t a = out_.nodes[one.call].parent, b = out_.nodes[other.call].parent;
    if (one.call == other.call) return found->second = one.application;
    while (a != b) {
      if (depth_[a] >= depth_[b])
        a = out_.nodes[a].parent;
      else
        b = out_.nodes[b].parent;
    }
    return found->second = a;
  }

  void add(uint32_t p) {
    const Process& process = in_.tracing.processes[p];
    Times before;
    before.resize(out_.nodes.size());
    for (size_t i = 0; i < out_.nodes.size(); ++i) before[i] = time_of(out_.nodes[i]);
    std::map<uint32_t, Samples> samples;  // by kernel thread id
    if (p < in_.samples.size())
      for (const UnwoundSample& sample : in_.samples[p]) samples[sample.tid].push_back(&sample);
    for (const Thread& thread : process.threads) {
      const auto tid = static_cast<uint32_t>(process.trace->process.pid) + thread.behind_main;
      add(p, thread, samples[tid]);
      if (!thread.operations.empty()) samples.erase(tid);
    }
    for (const auto& [tid, of_thread] : samples) add_without_calls(p, of_thread);
    if (!process.trace->process.used_cuda) return;
    std::vector<double> cpu(out_.nodes.size(), 0);
    for (size_t i = out_.nodes.size(); i-- > 0;) {
      cpu[i] += time_of(out_.nodes[i]) - (i < before.size() ? before[i] : 0);
      if (i > 0) cpu[out_.nodes[i].parent] += cpu[i];
    }
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      ReportContext& node = out_.nodes[i];
      // A node that is new was in none of the processes before.
      node.cpu_least_s = processes_ == 0     ? cpu[i]
                         : i < before.size() ? std::min(node.cpu_least_s, cpu[i])
                                             : 0;
      node.cpu_most_s = std::max(node.cpu_most_s, cpu[i]);
    }
    ++processes_;
  }

  using Samples = std::vector<const UnwoundSample*>;

  // A thread that made no calls: what samples saw of it.
  void add_without_calls(uint32_t p, const Samples& samples) {
    int64_t time = 0;
    for (const UnwoundSample* sample : samples) time += sample->weight.count;
    if (time == 0) return;
    share_out(p, 0, time, samples, &ReportContext::cpu_s);
    out_.samples += samples.size();
    out_.threads_s += static_cast<double>(time) * 1e-9;
  }

  // Time of a node, by what samples saw in it. Out: how much of its weight each sample stands for.
  double share_out(uint32_t p, uint32_t node, int64_t time, const Samples& samples,
                   double ReportContext::*to) {
    int64_t sampled = 0;
    for (const UnwoundSample* sample : samples) sampled += sample->weight.count;
    const double scale = sampled > time ? static_cast<double>(time) / static_cast<double>(sampled) : 1;
    for (const UnwoundSample* sample : samples)
      out_.nodes[below(p, node, *sample)].*to += static_cast<double>(sample->weight.count) * 1e-9 * scale;
    out_.nodes[node].*to += static_cast<double>(std::max<int64_t>(time - sampled, 0)) * 1e-9;
    return scale;
  }

  // The context that a sample was in, at `node` or below it.
  uint32_t below(uint32_t p, uint32_t node, const UnwoundSample& sample) {
    SampledFrames frames;
    for (const Frame frame : sample.frames)
      for (const ReportFrame& one : in_.named(p, frame)) frames.push_back(&one);
    const auto native = static_cast<size_t>(
        std::find_if(frames.begin(), frames.end(),
                     [](const ReportFrame* frame) { return frame->language == "python"; }) -
        frames.begin());
    size_t outer = frames.size();  // frames inside of this one are below the node
    int line = 0;
    const bool of_python = native < frames.size();
    if (const auto held = of_python ? holder_of(out_.nodes, node, frames, native) : std::nullopt)
      std::tie(node, outer) = *held;
    else if (of_python && is_below_python(out_.nodes, node))
      node = 0;
    else if (node != 0)
      outer = outermost_of(frames, out_.nodes[node].name).value_or(native);
    if (node == 0) {
      outer = frames.size();
      for (size_t i = frames.size(); i-- > 0;)
        if (is_outermost(*frames[i])) {
          outer = i + 1;
          break;
        }
      while (outer > 0 && starts_threads(*frames[outer - 1])) --outer;
    }
    if (node != 0 && outer < frames.size()) line = frames[outer]->line;
    // Of the interpreter's own frames, those inside of its innermost loop tell something.
    for (size_t i = 0; i < outer; ++i)
      if (frames[i]->function.starts_with("_PyEval_EvalFrame")) {
        outer = i;
        if (i == 0) return child(node, Kind::frame, "Python's interpreter", "", 0);
        break;
      }
    const ReportFrame* caller = nullptr;
    for (size_t i = outer; i-- > (outer > kMostSampledFrames ? outer - kMostSampledFrames : 0);) {
      if (tells_nothing(*frames[i], caller)) continue;
      node = frame_child(node, *frames[i], line);
      line = frames[i]->line;
      caller = frames[i];
    }
    return node;
  }

  void add(uint32_t p, const Thread& thread, const Samples& samples) {
    // The driver's own threads are no part of the program.
    if (std::all_of(thread.operations.begin(), thread.operations.end(),
                    [](const Operation& one) { return one.has(kDriverThread); }))
      return;
    const Process& process = in_.tracing.processes[p];
    const ProcessFile& file = process.trace->process;
    RecordingCost recording(process, thread);
    std::unordered_map<uint32_t, int64_t> gaps;  // by node
    struct Calls {
      uint64_t count = 0;
      int64_t own = 0, waited = 0;
    };
    std::unordered_map<uint32_t, Calls> calls;  // by site
    int64_t now =
        thread.main && file.started_ns > 0 ? file.started_ns : thread.operations.front().begin.count;
    const int64_t begin = now;
    int64_t recorded = 0, due = 0;                  // due: behind the call before
    std::unordered_map<uint32_t, Samples> sampled;  // by node
    // Of what lies before each call: without recording.
    std::vector<float> own_share(thread.operations.size(), 1);
    auto sample = samples.begin();
    const auto take_samples = [&](uint32_t node, int64_t until) {
      for (; sample != samples.end() && (*sample)->at.count <= until; ++sample)
        if ((*sample)->at.count > now) sampled[node].push_back(*sample);
    };
    for (uint32_t i = 0; i < thread.operations.size(); ++i) {
      const Operation& one = thread.operations[i];
      const RecordingCost::Around cost = recording.of(i);
      const int64_t gap = std::max<int64_t>(one.begin.count - now, 0);
      const int64_t taken = std::clamp<int64_t>(due + cost.before.count, 0, gap);
      const uint32_t node = i == 0 ? 0 : between(thread.operations[i - 1].site, one.site);
      gaps[node] += gap - taken;
      if (gap > 0) own_share[i] = static_cast<float>(gap - taken) / static_cast<float>(gap);
      take_samples(node, one.begin.count);
      recorded += taken + cost.inside.count;
      Calls& of = calls[one.site.value];
      ++of.count;
      of.own += one.own().count - cost.inside.count;
      of.waited += one.waited.count;
      now = std::max(now, one.end().count);
      due = cost.behind.count;
    }
    if (thread.main && file.ended_ns > now) {
      const int64_t taken = std::min(due, file.ended_ns - now);
      recorded += taken;
      take_samples(0, file.ended_ns);
      gaps[0] += file.ended_ns - now - taken;
      now = file.ended_ns;
    }
    std::vector<uint32_t> touched;
    for (const auto& [node, time] : gaps) {
      share_out(p, node, time, sampled[node], &ReportContext::cpu_s);
      out_.samples += sampled[node].size();
      touched.push_back(node);
    }
    for (const auto& [site, sums] : calls) {
      ReportContext& node = out_.nodes[call_of(SiteIndex{site})];
      node.count += sums.count;
      node.driver_s += static_cast<double>(sums.own) * 1e-9;
      node.waited_s += static_cast<double>(sums.waited) * 1e-9;
      touched.push_back(call_of(SiteIndex{site}));
    }
    if (p < in_.idle.size()) add_idle(p, thread, own_share, samples);
    out_.threads_s += static_cast<double>(now - begin) * 1e-9;
    out_.recording_s += static_cast<double>(recorded) * 1e-9;
    ++threads_;
    counted_.resize(out_.nodes.size(), 0);
    for (uint32_t node : touched)
      for (; counted_[node] != threads_; node = out_.nodes[node].parent) {
        counted_[node] = threads_;
        ++out_.nodes[node].threads;
      }
  }

  // What the thread did while the GPU had nothing to do, and its next work came from here.
  void add_idle(uint32_t p, const Thread& thread, const std::vector<float>& own_share,
                const Samples& samples) {
    const auto number = static_cast<size_t>(&thread - in_.tracing.processes[p].threads.data());
    const auto& operations = thread.operations;
    std::unordered_map<uint32_t, double> gaps;      // ns, by node
    std::unordered_map<uint32_t, Samples> sampled;  // by node
    const bool sampled_at_all =
        p < in_.samples.size() && std::any_of(in_.samples[p].begin(), in_.samples[p].end(),
                                              [](const UnwoundSample& one) { return one.of_cpu; });
    double between_s = 0, on_cpu_s = 0;
    auto sample = samples.begin();
    for (const IdlePart& part : parts_of(in_.idle[p].by_thread[number], operations)) {
      const Operation& one = operations[part.operation];
      double seconds = static_cast<double>(part.end - part.begin) * 1e-9;
      if (part.what == Meanwhile::between) {
        const double own = seconds * static_cast<double>(own_share[part.operation]);
        out_.idle.recording_s += seconds - own;
        seconds = own;
        const uint32_t node =
            part.operation == 0 ? 0 : between(operations[part.operation - 1].site, one.site);
        gaps[node] += seconds * 1e9;
        double on_cpu = 0;
        for (; sample != samples.end() && (*sample)->at.count <= part.end; ++sample) {
          if ((*sample)->at.count <= part.begin) continue;
          sampled[node].push_back(*sample);
          on_cpu += (*sample)->weight.seconds();
        }
        if (part.operation > 0)
          add_idle_gap({node, line_in(node, operations[part.operation - 1].site), line_in(node, one.site),
                        seconds, 1, sampled_at_all ? std::optional(seconds - on_cpu) : std::nullopt});
        between_s += seconds;
        on_cpu_s += on_cpu;
        continue;
      }
      out_.nodes[call_of(one.site)].idle_s += seconds;
      (part.what == Meanwhile::in_call     ? out_.idle.calls_s
       : part.what == Meanwhile::wait_over ? out_.idle.waits_s
                                           : out_.idle.launching_s) += seconds;
    }
    out_.idle.between_s += between_s;
    if (sampled_at_all)
      out_.idle.asleep_s = out_.idle.asleep_s.value_or(0) + std::max(between_s - on_cpu_s, 0.0);
    for (const auto& [node, time] : gaps) {
      const double scale = share_out(p, node, std::llround(time), sampled[node], &ReportContext::idle_s);
      for (const UnwoundSample* one : sampled[node])
        out_.idle_samples.push_back({p, one, one->weight.seconds() * scale});
    }
  }

  // Of a site below a context: the line of that function from which it goes to the site's call. 0: not known.
  int line_in(uint32_t node, SiteIndex site) {
    uint32_t at = call_of(site);
    while (at != 0 && out_.nodes[at].parent != node) at = out_.nodes[at].parent;
    return at == 0 ? 0 : out_.nodes[at].called_line;
  }

  void add_idle_gap(const ReportIdle::Gap& gap) {
    auto [sums, fresh] = idle_gaps_.try_emplace({gap.context, gap.before, gap.after}, gap);
    if (fresh) return;
    sums->second.seconds += gap.seconds;
    sums->second.count += gap.count;
    // What samples say of one gap alone is worth nothing; of all together it is. Below zero until then.
    if (gap.asleep_s) sums->second.asleep_s = sums->second.asleep_s.value_or(0) + *gap.asleep_s;
  }

  void add_idle_of_loop() {
    if (!in_.loop || in_.loop->process >= in_.idle.size()) return;
    const int64_t begin = in_.loop->begin.count, end = in_.loop->end.count;
    out_.idle.loop_iterations = in_.loop->iterations;
    out_.idle.loop_s = static_cast<double>(end - begin) * 1e-9;
    for (const auto& stretches : in_.idle[in_.loop->process].by_thread)
      for (const IdleStretch& one : stretches)
        out_.idle.loop_idle_s +=
            static_cast<double>(std::max<int64_t>(std::min(one.end, end) - std::max(one.begin, begin), 0)) *
            1e-9;
  }

  void add_idle_gaps() {
    for (const auto& [place, gap] : idle_gaps_) out_.idle.gaps.push_back(gap);
    std::stable_sort(out_.idle.gaps.begin(), out_.idle.gaps.end(),
                     [](const auto& one, const auto& other) { return one.seconds > other.seconds; });
    if (out_.idle.gaps.size() > kMostIdleGaps) out_.idle.gaps.resize(kMostIdleGaps);
    for (ReportIdle::Gap& gap : out_.idle.gaps)
      if (gap.asleep_s) gap.asleep_s = std::max(*gap.asleep_s, 0.0);
  }

  void add_gpu() {
    if (!in_.work) return;
    size_t processes = 0;
    for (const GpuWorkItem& item : in_.work->items)
      for (const GpuWorkPath& path : item.paths) processes = std::max(processes, path.by_process.size());
    std::vector<std::vector<double>> by_process(processes);
    for (uint32_t i = 0; i < in_.work->items.size(); ++i) {
      const std::string name = in_.work_name(i);
      for (const GpuWorkPath& path : in_.work->items[i].paths) {
        const uint32_t leaf = child(call_of(path.site), Kind::gpu, name, std::to_string(i), 0);
        ReportContext& node = out_.nodes[leaf];
        node.count += path.count;
        node.gpu_s += path.time.seconds();
        node.work = static_cast<int32_t>(i);
        out_.of_path[{i, path.site.value}] = leaf;
        for (size_t p = 0; p < path.by_process.size(); ++p) {
          by_process[p].resize(std::max<size_t>(by_process[p].size(), leaf + 1), 0);
          by_process[p][leaf] += path.by_process[p].seconds();
        }
      }
    }
    for (size_t p = 0; p < processes; ++p) {
      by_process[p].resize(out_.nodes.size(), 0);
      for (size_t i = out_.nodes.size(); i-- > 1;) by_process[p][out_.nodes[i].parent] += by_process[p][i];
      for (size_t i = 0; i < out_.nodes.size(); ++i) {
        ReportContext& node = out_.nodes[i];
        node.gpu_least_s = p == 0 ? by_process[p][i] : std::min(node.gpu_least_s, by_process[p][i]);
        node.gpu_most_s = std::max(node.gpu_most_s, by_process[p][i]);
      }
    }
  }

  using Times = std::vector<double>;
  static double time_of(const ReportContext& node) { return node.cpu_s + node.driver_s + node.waited_s; }

  const ContextInput& in_;
  Contexts out_;
  std::map<Key, uint32_t> nodes_;
  std::unordered_map<FrameBelow, uint32_t, FrameBelowHash> frame_children_;  // of those that were asked for
  std::vector<uint32_t> depth_{0};
  std::unordered_map<uint32_t, SiteNodes> sites_;
  std::unordered_map<uint64_t, uint32_t> between_;
  std::map<std::tuple<uint32_t, int, int>, ReportIdle::Gap> idle_gaps_;  // by context and lines
  std::vector<uint32_t> counted_;  // by node: the last thread that was counted there
  uint32_t processes_ = 0, threads_ = 0;
};

}  // namespace

Contexts find_contexts(const ContextInput& input) { return Tree(input).build(); }

}  // namespace diogenes
