#include "analysis/profile/profile.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "analysis/profile/hot_loops.h"
#include "analysis/profile/inside_kernels.h"
#include "analysis/profile/occupancy.h"
#include "analysis/samples/python_readings.h"
#include "analysis/symbols/dwarf_frames.h"
#include "analysis/symbols/frame_owner.h"
#include "analysis/symbols/module_file.h"
#include "analysis/symbols/wording.h"
#include "base/in_background.h"
#include "base/short_function.h"

namespace diogenes {
namespace {

constexpr size_t kMostWork = 500, kMostPaths = 20, kMostShapes = 5, kMostContexts = 6'000;
constexpr size_t kMostInside = 3'000;  // contexts inside kernels
constexpr size_t kMostParts = 10;      // kernels of whose hottest place it is said what it gains
constexpr int kMostSourceLines = 40, kLinesAround = 2;
constexpr size_t kLongestName = 4'000;  // characters

ReportGpuWork::Kind kind_of(GpuWork work) {
  using Shown = ReportGpuWork::Kind;
  switch (work) {
    case GpuWork::kernel:
      return Shown::kernel;
    case GpuWork::to_device:
      return Shown::to_device;
    case GpuWork::to_host:
      return Shown::to_host;
    case GpuWork::on_device:
      return Shown::on_device;
    case GpuWork::fill:
      return Shown::fill;
    case GpuWork::other:
      break;
  }
  return Shown::other;
}

// Nothing that a terminal would obey.
std::string clean(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  if (name.size() > kLongestName) name = name.substr(0, kLongestName - 3) + "...";
  return name;
}

std::string full_name(const GpuWorkItem& item) {
  return item.kind == GpuWork::kernel && !item.name.empty() ? clean(demangle(item.name.c_str())) : "";
}

std::string say_part(const GpuWorkFound& work) {
  char share[32];
  snprintf(share, sizeof share, "%.0f%%",
           100 * static_cast<double>(work.timed) / static_cast<double>(work.timed + work.untimed));
  return "GPU times were recorded for " + std::string(share) +
         " of the calls that give the GPU work; the others count as much as their neighbours of the same call path. "
         "`diogenes profile --all-gpu-times` records all of them, and takes longer";
}

class Profile {
 public:
  explicit Profile(ProfileInput input) : in_(std::move(input)) {}

  ReportProfile make() {
    // What-ifs need no names, and names no what-ifs.
    auto what_ifs = in_background([this] {
      inside_ = find_inside();
      const std::vector<PartOfWork> parts = hottest_parts();
      return in_.work && in_.replay ? find_what_ifs(in_.tracing, *in_.work, *in_.replay(), in_.fixed, parts)
                                    : WhatIfs{};
    });
    Contexts contexts = find_all_contexts();
    what_ifs_ = what_ifs.get();
    if (in_.work) add_work();
    add_inside();
    add(std::move(contexts));
    return std::move(out_);
  }

 private:
  void add_work() {
    const GpuWorkFound& work = *in_.work;
    out_.gpu_s = work.time.seconds();
    out_.gpu_busy_s = work.busy.seconds();
    out_.pieces = work.pieces;
    out_.unnamed = work.unnamed;
    out_.work_count = work.items.size();
    for (uint32_t i = 0; i < work.items.size(); ++i) {
      if (i < kMostWork)
        add(i);
      else
        out_.left_out_s += work.items[i].time.seconds();
    }
    if (work.untimed > 0) out_.notes.push_back(say_part(work));
    if (work.unnamed > 0)
      out_.notes.push_back(counted(work.unnamed, "piece", "pieces") + " of GPU work " +
                           (work.unnamed == 1 ? "is a kernel" : "are kernels") + " whose name is not known");
  }

  void add(uint32_t number) {
    const GpuWorkItem& item = in_.work->items[number];
    ReportGpuWork& out = out_.work.emplace_back();
    out.id = "K" + std::to_string(number + 1);
    out.kind = kind_of(item.kind);
    out.name = work_name(item);
    out.full_name = full_name(item);
    out.count = item.count;
    out.gpu_s = item.time.seconds();
    out.percent = in_.work->time.count > 0 ? 100 * out.gpu_s / in_.work->time.seconds() : 0;
    out.shortest_s = item.shortest.seconds();
    out.median_s = item.median.seconds();
    out.longest_s = item.longest.seconds();
    if (!item.by_process.empty()) {
      const auto [least, most] = std::minmax_element(item.by_process.begin(), item.by_process.end());
      out.least_s = least->seconds();
      out.most_s = most->seconds();
    }
    out.bytes = item.bytes.count;
    out.in_graphs = item.in_graphs;
    out.shape_count = item.shapes.size();
    for (size_t i = 0; i < item.shapes.size() && i < kMostShapes; ++i) add(out, item.shapes[i]);
    out.path_count = item.paths.size();
    for (size_t i = 0; i < item.paths.size() && i < kMostPaths; ++i) add(out, number, item.paths[i]);
    if (const auto found = what_ifs_.items.find(number); found != what_ifs_.items.end())
      out.what_if = found->second;
  }

  void add(ReportGpuWork& to, const GpuWorkShape& shape) {
    ReportLaunchShape& out = to.shapes.emplace_back();
    std::copy_n(shape.shape.grid, 3, out.grid);
    std::copy_n(shape.shape.block, 3, out.block);
    out.registers = shape.shape.registers;
    out.static_shared_bytes = shape.shape.static_shared;
    out.dynamic_shared_bytes = shape.shape.dynamic_shared;
    out.count = shape.count;
    out.gpu_s = shape.time.seconds();
    for (const Process& process : in_.tracing.processes)
      if (const ProcessFile& file = process.trace->process; file.capability_major > 0 && out.registers > 0) {
        out.occupancy = occupancy_of(shape.shape, file.capability_major, file.capability_minor);
        break;
      }
  }

  void add(ReportGpuWork& to, uint32_t number, const GpuWorkPath& path) {
    ReportGpuPath& out = to.paths.emplace_back();
    out.stack = in_.names.stack(in_.sites[path.site].place);
    if (const ReportFrame* frame = acting_frame(out.stack)) out.where = *frame;
    out.via = called_library(out.stack);
    out.count = path.count;
    out.gpu_s = path.time.seconds();
    const auto found = what_ifs_.paths.find({number, path.site.value});
    if (found != what_ifs_.paths.end()) out.what_if = found->second;
    if (!out.what_if && to.path_count == 1)
      if (const auto all = what_ifs_.items.find(number); all != what_ifs_.items.end())
        out.what_if = all->second;
  }

  Contexts find_all_contexts() {
    const ContextInput input = {
        .tracing = in_.tracing,
        .work = in_.work,
        .stack = [this](SiteIndex site) -> const std::vector<ReportFrame>& {
          return in_.names.stack(in_.sites[site].place);
        },
        .called = [this](SiteIndex site) { return in_.names.called(in_.sites[site]); },
        .work_name = [this](uint32_t item) { return work_name(in_.work->items[item]); },
        .recoverable_s = in_.recoverable_s,
        .samples = in_.samples(),
        .named = [this](uint32_t p, Frame frame) -> const std::vector<ReportFrame>& {
          return names_of(p, frame);
        },
        .idle = in_.idle(),
        .loop = in_.loop};
    Contexts contexts = find_contexts(input);
    add_hot_loops(contexts);
    keep_largest(contexts, kMostContexts);
    return contexts;
  }

  const std::vector<ReportFrame>& names_of(uint32_t process, Frame frame) {
    return in_.names.frame(*in_.tracing.processes[process].trace, frame);
  }

  using CallPlaces =
      std::map<std::string, std::set<uint64_t>>;  // by file, where the stacks of driver calls go on
  CallPlaces driver_calls() {
    CallPlaces calls;
    for (uint32_t i = 0; i < in_.sites.size(); ++i)
      for (const ReportFrame& frame : in_.names.stack(in_.sites[SiteIndex{i}].place))
        calls[frame.module].insert(frame.offset);
    return calls;
  }

  void add_hot_loops(Contexts& contexts) {
    if (contexts.idle_samples.empty()) return;
    const CallPlaces calls = driver_calls();
    const auto calls_driver = [&](const std::string& module, uint64_t begin, uint64_t end) {
      const auto of_file = calls.find(module);
      if (of_file == calls.end()) return false;
      const auto first = of_file->second.lower_bound(begin);
      return first != of_file->second.end() && *first < end;
    };
    const auto named = [this](uint32_t p, Frame frame) { return names_of(p, frame); };
    std::map<std::pair<std::string, BuildId>, CodeLoops> files;
    const auto innermost = [&](uint32_t p, Frame frame) -> const CodeLoop* {
      const ModuleRecord* module = in_.tracing.processes[p].trace->module(frame.module());
      if (!module) return nullptr;
      const BuildId id = build_id_of(*module);
      return files.try_emplace({module->path, id}, module->path, id).first->second.innermost(frame.offset());
    };
    contexts.idle.loops =
        find_hot_loops({contexts.idle_samples, contexts.idle.idle_s, named, innermost, calls_driver});
    for (ReportIdle::Loop& loop : contexts.idle.loops)
      for (std::string* name : {&loop.function, &loop.caller}) *name = clean(std::move(*name));
  }

  void add(Contexts contexts) {
    if (contexts.samples > 0)
      out_.notes.push_back("the CPU was sampled: " + counted(contexts.samples, "sample", "samples") +
                           " lie between calls of the driver");
    out_.threads_s = contexts.threads_s;
    out_.recording_s = contexts.recording_s;
    if (in_.work) out_.idle = std::move(contexts.idle);
    for (const auto& [path, node] : contexts.of_path) set_gain(contexts.nodes[node], path.first, path.second);
    out_.contexts = std::move(contexts.nodes);
    add_inside_kernels(out_.contexts, out_.work, kMostInside);
    for (ReportContext& node : out_.contexts) {
      node.name = clean(std::move(node.name));
      if (node.work >= static_cast<int32_t>(out_.work.size())) node.work = -1;
    }
  }

  void set_gain(ReportContext& node, uint32_t item, uint32_t site) {
    if (node.kind != ReportContext::Kind::gpu) return;
    const ReportWhatIf* gain = nullptr;
    if (const auto of_path = what_ifs_.paths.find({item, site}); of_path != what_ifs_.paths.end())
      gain = &of_path->second;
    const auto of_item = what_ifs_.items.find(item);
    if (!gain && of_item != what_ifs_.items.end() && in_.work->items[item].paths.size() == 1)
      gain = &of_item->second;
    if (!gain) return;
    node.half_gain_s = gain->half.seconds;
    node.none_gain_s = gain->none.seconds;
  }

  KernelSamplesFound find_inside() const {
    if (in_.gpu_samples.empty() || !in_.work) return {};
    std::vector<KernelAsked> kernels;
    for (size_t i = 0; i < in_.work->items.size() && i < kMostWork; ++i) {
      const GpuWorkItem& item = in_.work->items[i];
      if (item.kind != GpuWork::kernel || item.name.empty()) continue;
      const uint32_t* block = item.shapes.empty() ? nullptr : item.shapes.front().shape.block;
      kernels.push_back({item.name, block ? block[0] * block[1] * block[2] : 0});
      if (!in_.sampled_time) continue;
      if (const auto time = in_.sampled_time->find(item.name); time != in_.sampled_time->end())
        kernels.back().sampled = time->second;
    }
    return find_kernel_samples(in_.gpu_samples, kernels);
  }

  // The hottest place of each of the largest kernels.
  std::vector<PartOfWork> hottest_parts() {
    std::vector<PartOfWork> parts;
    if (inside_.kernels.empty()) return parts;
    for (uint32_t i = 0; i < in_.work->items.size() && i < kMostWork && parts.size() < kMostParts; ++i) {
      const ReportKernelSamples* kernel = inside_of(i);
      if (kernel && !kernel->hottest.empty())
        parts.push_back({i, kernel->share(kernel->nodes[kernel->hottest.front()].all.samples)});
    }
    parts_ = parts;
    return parts;
  }

  ReportKernelSamples* inside_of(uint32_t item) {
    const GpuWorkItem& work = in_.work->items[item];
    if (work.kind != GpuWork::kernel) return nullptr;
    const auto found = inside_.kernels.find(work.name);
    return found == inside_.kernels.end() ? nullptr : &found->second;
  }

  void add_inside() {
    out_.no_samples = clean(std::move(inside_.no_samples));
    for (std::string& note : inside_.notes) out_.notes.push_back(clean(std::move(note)));
    for (size_t i = 0; i < parts_.size() && i < what_ifs_.parts.size(); ++i) {
      ReportKernelSamples& kernel = *inside_of(parts_[i].item);
      kernel.nodes[kernel.hottest.front()].what_if = what_ifs_.parts[i];
    }
    for (uint32_t i = 0; i < out_.work.size() && !inside_.kernels.empty(); ++i) {
      ReportKernelSamples* kernel = inside_of(i);
      if (!kernel) continue;
      for (ReportKernelNode& node : kernel->nodes)
        for (std::string* text : {&node.function, &node.file}) *text = clean(std::move(*text));
      for (std::string& reason : kernel->reasons) reason = clean(std::move(reason));
      if (const size_t paths = in_.work->items[i].paths.size(); paths > 1)
        kernel->notes.push_back("it is launched in " + counted(paths, "place", "places") +
                                "; samples do not tell these apart, so that all have the same shares");
      add_source(*kernel);
      out_.work[i].inside = *kernel;
    }
  }

  // Around the hottest place.
  void add_source(ReportKernelSamples& kernel) const {
    if (!in_.source || kernel.hottest.empty()) return;
    const ReportKernelNode& hottest = kernel.nodes[kernel.hottest.front()];
    if (hottest.file.empty() || hottest.line <= 0) return;
    const int first = std::max(hottest.line - kLinesAround, 1);
    const int last = std::max(hottest.last_line, hottest.line) + kLinesAround;
    const ReportSource found = in_.source(hottest.file, first, std::min(last, first + kMostSourceLines - 1));
    if (!found.lines.empty())
      kernel.source.push_back(with_samples(kernel, hottest.file, found.first, found.lines));
  }

  ProfileInput in_;
  KernelSamplesFound inside_;
  std::vector<PartOfWork> parts_;  // as WhatIfs::parts
  WhatIfs what_ifs_;
  ReportProfile out_;
};

}  // namespace

std::string work_name(const GpuWorkItem& item) {
  switch (item.kind) {
    case GpuWork::kernel:
      return item.name.empty() ? "kernel without a name" : short_function(full_name(item));
    case GpuWork::to_device:
      return "copy to the GPU";
    case GpuWork::to_host:
      return "copy to the CPU";
    case GpuWork::on_device:
      return "copy on the GPU";
    case GpuWork::fill:
      return "fill on the GPU";
    case GpuWork::other:
      break;
  }
  return "other GPU work";
}

std::vector<std::vector<UnwoundSample>> find_names(const Run& tracing, const SiteTable& sites,
                                                   StackNames& names, const CpuSamples* samples) {
  auto unwinding = in_background([&] {
    std::vector<std::vector<UnwoundSample>> unwound;
    for (const Process& process : tracing.processes) {
      std::vector<UnwoundSample>& of_process = unwound.emplace_back();
      if (samples) of_process = unwind(*process.trace, samples->all());
      add_python(process, python_readings(*process.trace), of_process);
    }
    return unwound;
  });
  names.find(sites);
  for (uint32_t site = 0; site < sites.size(); ++site) names.stack(sites[SiteIndex{site}].place);
  auto unwound = unwinding.get();
  StackNames::FramesOf frames;
  for (size_t p = 0; p < unwound.size(); ++p)
    for (const UnwoundSample& sample : unwound[p]) {
      std::vector<Frame>& of_process = frames[tracing.processes[p].trace];
      of_process.insert(of_process.end(), sample.frames.begin(), sample.frames.end());
    }
  names.find(sites, frames);
  for (const auto& [process, of_process] : frames)
    for (const Frame frame : of_process) names.frame(*process, frame);
  return unwound;
}

std::vector<GpuIdle> find_idle(const Run& tracing, const replay::Schedules& schedules) {
  std::vector<GpuIdle> idle;
  for (size_t p = 0; p < tracing.processes.size(); ++p)
    idle.push_back(find_gpu_idle(tracing.processes[p], *schedules[p]));
  return idle;
}

ReportProfile make_profile(ProfileInput input) { return Profile(std::move(input)).make(); }

}  // namespace diogenes
