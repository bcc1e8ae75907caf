#include "views/testing/sample_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;

const char* const kAlsSource = "/home/me/als/src/als.cc";

ReportContext context(uint32_t parent, Kind kind, std::string name) {
  ReportContext one;
  one.parent = parent;
  one.kind = kind;
  one.name = std::move(name);
  one.threads = 1;
  return one;
}

ReportContext function(uint32_t parent, std::string name, int line, int called_line, double cpu_s) {
  ReportContext one = context(parent, Kind::frame, std::move(name));
  one.file = kAlsSource;
  one.module = "/home/me/als/build/als";
  one.line = line;
  one.called_line = called_line;
  one.language = "c++";
  one.cpu_s = cpu_s;
  return one;
}

ReportContext call(uint32_t parent, std::string name, int called_line, uint64_t count, double driver_s,
                   double waited_s = 0, double recoverable_s = 0) {
  ReportContext one = context(parent, Kind::call, std::move(name));
  one.called_line = called_line;
  one.count = count;
  one.driver_s = driver_s;
  one.waited_s = waited_s;
  one.recoverable_s = recoverable_s;
  return one;
}

ReportContext gpu_work(uint32_t parent, int32_t work, std::string name, uint64_t count, double gpu_s,
                       double half_gain_s) {
  ReportContext one = context(parent, Kind::gpu, std::move(name));
  one.work = work;
  one.count = count;
  one.gpu_s = gpu_s;
  one.half_gain_s = half_gain_s;
  one.none_gain_s = 1.5 * half_gain_s;
  return one;
}

ReportGpuPath path(const char* function, int line, uint64_t count, double gpu_s, double half_s) {
  ReportGpuPath one;
  const ReportFrame frame{function, kAlsSource, line, "/home/me/als/build/als", 0x1000, false};
  one.where = frame;
  one.stack = {frame,
               {"als::iterate(int)", kAlsSource, 204, "/home/me/als/build/als", 0x2b10},
               {"main", "/home/me/als/src/main.cc", 31, "/home/me/als/build/als", 0x3c00}};
  one.count = count;
  one.gpu_s = gpu_s;
  one.what_if = ReportWhatIf{.half = {half_s, 0.8 * half_s, 1.1 * half_s},
                             .none = {1.5 * half_s, 1.2 * half_s, 1.8 * half_s},
                             .half_fixed = {},
                             .none_fixed = {},
                             .reason = ""};
  return one;
}

ReportKernelNode place(uint32_t parent, ReportKernelNode::Kind kind, std::string function, int line,
                       int last_line, int called_line, double own, double all,
                       std::vector<ReportStall> stalls) {
  ReportKernelNode one;
  one.parent = parent;
  one.kind = kind;
  one.function = std::move(function);
  one.file = "/home/me/als/src/axpy.cu";
  one.line = line;
  one.last_line = last_line;
  one.called_line = called_line;
  one.own.samples = own;
  one.all = {all, 0.6 * all, stalls};
  if (own == all) one.own = one.all;
  return one;
}

// 1,000 samples: 620 in a loop, 300 in a function that was called, of whose callers there are two.
ReportKernelSamples inside_axpy() {
  using Inside = ReportKernelNode::Kind;
  ReportKernelSamples kernel;
  kernel.reasons = {"long_scoreboard", "selected", "wait", "new_reason"};
  kernel.nodes = {
      place(0, Inside::kernel, "axpy<float, 4>", 10, 0, 0, 30, 1000, {{0, 560}, {1, 250}, {2, 150}, {3, 40}}),
      place(0, Inside::loop, "axpy<float, 4>", 12, 18, 0, 0, 620, {{0, 440}, {1, 100}, {2, 80}}),
      place(1, Inside::line, "axpy<float, 4>", 14, 0, 0, 500, 500, {{0, 400}, {1, 60}, {2, 40}}),
      place(1, Inside::inlined, "scaled", 4, 0, 16, 0, 120, {{0, 40}, {1, 40}, {2, 40}}),
      place(3, Inside::line, "scaled", 5, 0, 0, 120, 120, {{0, 40}, {1, 40}, {2, 40}}),
      place(0, Inside::function, "norm", 22, 0, 20, 0, 300, {{1, 150}, {0, 110}, {3, 40}}),
      place(5, Inside::line, "norm", 24, 0, 0, 300, 300, {{1, 150}, {0, 110}, {3, 40}}),
      place(0, Inside::rest, "", 0, 0, 0, 50, 50, {{2, 40}, {0, 10}}),
  };
  kernel.nodes[5].estimated = kernel.nodes[6].estimated = true;
  kernel.nodes[1].what_if = ReportWhatIf{
      .half = {0.1, 0.09, 0.11}, .none = {0.2, 0.18, 0.22}, .half_fixed = {}, .none_fixed = {}, .reason = ""};
  kernel.hottest = {1, 6};
  kernel.notes = {
      "it is launched in 2 places; samples do not tell these apart, so that all have the same shares"};
  kernel.issue_rate = 0.4;
  kernel.eligible_rate = 0.3;
  kernel.busy_rate = 0.7599;
  kernel.instructions_a_cycle = 1.6;
  kernel.active_rate = 0.32;
  kernel.instructions_a_launch = 1.25e6;
  kernel.source = {{"/home/me/als/src/axpy.cu",
                    12,
                    {{"  for (int i = first; i < n; i += step) {", 0, -1},
                     {"    const int at = index[i];", 0, -1},
                     {"    y[i] += a * x[at];", 500, 0},
                     {"  }", 0, -1}}}};
  return kernel;
}

std::vector<ReportGpuWork> works() {
  ReportGpuWork axpy;
  axpy.id = "K1";
  axpy.name = "axpy<float, 4>";
  axpy.full_name = "void axpy<float, 4>(float const*, float*, int)";
  axpy.count = 12'000;
  axpy.gpu_s = 0.4;
  axpy.percent = 47.1;
  axpy.shortest_s = 20e-6;
  axpy.median_s = 33e-6;
  axpy.longest_s = 120e-6;
  axpy.least_s = axpy.most_s = 0.4;
  axpy.shapes = {{{256, 1, 1}, {256, 1, 1}, 40, 0, 1024, 11'000, 0.36, ReportOccupancy{75, "registers"}},
                 {{64, 4, 2}, {16, 16, 1}, 40, 2048, 0, 1'000, 0.04, ReportOccupancy{100, ""}}};
  axpy.shape_count = 2;
  axpy.paths = {path("als::update_theta<float>(als::Matrix<float> const&, int)", 125, 6'000, 0.3, 0.12),
                path("als::update_x<float>(als::Matrix<float> const&, int)", 165, 6'000, 0.1, 0.04)};
  axpy.path_count = 2;
  axpy.what_if = ReportWhatIf{.half = {0.16, 0.14, 0.18},
                              .none = {0.24, 0.2, 0.3},
                              .half_fixed = ReportGain{0.19, 0.17, 0.2},
                              .none_fixed = ReportGain{0.38, 0.35, 0.4},
                              .reason = "how long the CPU computes between calls varies from run to run"};
  axpy.inside = inside_axpy();
  ReportGpuWork reduce;
  reduce.id = "K2";
  reduce.name = "reduce_rows";
  reduce.full_name = "reduce_rows(float const*, float*)";
  reduce.count = 500;
  reduce.gpu_s = 0.25;
  reduce.percent = 29.4;
  reduce.shortest_s = reduce.median_s = reduce.longest_s = 0.0005;
  reduce.least_s = reduce.most_s = 0.25;
  reduce.shapes = {{{32, 1, 1}, {1024, 1, 1}, 64, 0, 0, 500, 0.25, {}}};
  reduce.shape_count = 1;
  reduce.in_graphs = true;
  reduce.paths = {path("als::update_x<float>(als::Matrix<float> const&, int)", 170, 500, 0.25, 0.1)};
  reduce.path_count = 1;
  reduce.what_if = ReportWhatIf{
      .half = {0.1, 0.1, 0.1}, .none = {0.15, 0.15, 0.15}, .half_fixed = {}, .none_fixed = {}, .reason = ""};
  ReportGpuWork copy;
  copy.id = "K3";
  copy.kind = ReportGpuWork::Kind::to_device;
  copy.name = "copy to the device";
  copy.count = 500;
  copy.gpu_s = 0.2;
  copy.percent = 23.5;
  copy.shortest_s = copy.median_s = copy.longest_s = 0.0004;
  copy.least_s = copy.most_s = 0.2;
  copy.bytes = 2'000'000'000;
  copy.paths = {path("als::iterate(int)", 190, 500, 0.2, 0.05)};
  copy.paths[0].via = "thrust::copy";
  copy.path_count = 1;
  reduce.inside.emplace();
  reduce.inside->reasons = {"barrier", "selected"};
  reduce.inside->nodes = {
      place(0, ReportKernelNode::Kind::kernel, "reduce_rows", 0, 0, 0, 200, 200, {{0, 150}, {1, 50}})};
  reduce.inside->nodes[0].file.clear();
  reduce.inside->issue_rate = 0.25;
  reduce.inside->eligible_rate = 0.25;
  reduce.inside->why_no_lines =
      "its code has no line information, so that it is not known where in it its samples lie; compile with -lineinfo";
  return {axpy, reduce, copy};
}

// Below a launch of axpy: what inside_axpy() says.
void add_inside(std::vector<ReportContext>& contexts, uint32_t launched) {
  const ReportKernelSamples kernel = inside_axpy();
  const double whole_s = contexts[launched].gpu_s;
  std::vector<uint32_t> at(kernel.nodes.size(), launched);
  contexts[launched].gpu_s = 0.08 * whole_s;  // its own, and the rest
  for (size_t i = 1; i + 1 < kernel.nodes.size(); ++i) {
    const ReportKernelNode& node = kernel.nodes[i];
    const bool loop = node.kind == ReportKernelNode::Kind::loop,
               line = node.kind == ReportKernelNode::Kind::line;
    ReportContext one = context(at[node.parent],
                                loop   ? Kind::gpu_loop
                                : line ? Kind::gpu_line
                                       : Kind::gpu_function,
                                loop   ? "loop at axpy.cu:12 to 18"
                                : line ? "axpy.cu:" + std::to_string(node.line)
                                       : node.function);
    one.file = node.file;
    one.line = node.line;
    one.called_line = node.called_line;
    one.estimated = node.estimated;
    one.gpu_s = whole_s * node.own.samples / 1000;
    one.work = 0;
    one.place = static_cast<int32_t>(i);
    at[i] = static_cast<uint32_t>(contexts.size());
    contexts.push_back(std::move(one));
  }
}

}  // namespace

Report contexts_report() {
  Report report = timed_report();
  report.timeline->names[3] = "axpy<float, 4>";
  ReportProfile& profile = report.profile.emplace();
  profile.gpu_s = 0.85;
  profile.gpu_busy_s = 0.8;
  profile.threads_s = 0.53;
  profile.recording_s = 0.014;
  profile.pieces = 13'000;
  profile.work = works();
  profile.work_count = 3;
  profile.notes = {"Kernels ran in the run that timed the GPU."};
  profile.contexts = {
      context(0, Kind::root, "als"),
      function(0, "main", 20, 0, 0.01),                                   // 1
      function(1, "als::iterate(int)", 180, 31, 0.1),                     // 2
      function(2, "void als::update_theta<float>(int)", 110, 204, 0.05),  // 3
      call(3, "cudaLaunchKernel", 125, 6'000, 0.02),                      // 4
      gpu_work(4, 0, "axpy<float, 4>", 6'000, 0.3, 0.12),                 // 5
      call(3, "cudaFree", 120, 500, 0.006, 0.11, 0.1),                    // 6
      function(2, "void als::update_x<float>(int)", 150, 205, 0.04),      // 7
      call(7, "cudaLaunchKernel", 165, 6'500, 0.022),                     // 8
      gpu_work(8, 0, "axpy<float, 4>", 6'000, 0.1, 0.04),                 // 9
      gpu_work(8, 1, "reduce_rows", 500, 0.25, 0.1),                      // 10
      call(2, "cudaMemcpy", 190, 500, 0.09, 0.06, 0.088),                 // 11
      gpu_work(11, 2, "copy to the device", 500, 0.2, 0.05),              // 12
      function(2, "", 0, 0, 0.005),                                       // 13
      context(1, Kind::rest, "3 smaller ones"),                           // 14
  };
  profile.contexts[1].file = "/home/me/als/src/main.cc";
  profile.contexts[13].file = "";
  profile.contexts[13].module = "/usr/lib/libsolver.so";
  profile.contexts[13].owner = FrameOwner::library;
  profile.contexts[14].cpu_s = 0.003;
  add_inside(profile.contexts, 5);
  add_inside(profile.contexts, 9);
  return report;
}

Report vast_profile_report() {
  Report report = contexts_report();
  ReportProfile& profile = *report.profile;
  profile.contexts = {context(0, Kind::root, "als")};
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1'664'525 + 1'013'904'223, random >> 8; };
  const auto name_of = [&](uint32_t number) {
    std::string name = "library::space::function_" + std::to_string(number);
    if (number % 50 == 0) {
      name += '<';
      while (name.size() < 3'980) name += "std::tuple<int, float>, ";
      name += "int>";
    }
    return name;
  };
  for (uint32_t i = 1; i < 256; ++i)
    profile.contexts.push_back(function(i - 1, "deep_" + std::to_string(i) + "()", int(i), int(i), 1e-4));
  std::vector<uint32_t> frames = {0};
  while (profile.contexts.size() < 20'000) {
    // Near the end of the list more often than not: deep in some places.
    const uint32_t parent = next() % 4 == 0
                                ? frames[next() % frames.size()]
                                : frames[frames.size() - 1 - next() % std::min<size_t>(frames.size(), 40)];
    const auto at = static_cast<uint32_t>(profile.contexts.size());
    if (next() % 3 != 0) {
      profile.contexts.push_back(function(parent, name_of(next() % 4'000), int(next() % 900),
                                          int(next() % 900), 1e-6 * (next() % 900)));
      size_t depth = 0;
      for (uint32_t up = at; up != 0; up = profile.contexts[up].parent) ++depth;
      if (depth < 200) frames.push_back(at);
    } else {
      profile.contexts.push_back(call(parent, "cudaLaunchKernel", int(next() % 900), 10, 1e-6 * (next() % 90),
                                      1e-6 * (next() % 90), 1e-7 * (next() % 90)));
      const uint32_t work = next() % 300;
      profile.contexts.push_back(gpu_work(at, int(work), "kernel_" + std::to_string(work), 10,
                                          1e-6 * (next() % 900), 1e-7 * (next() % 900)));
    }
  }
  profile.contexts.resize(20'000);
  const ReportGpuWork model = profile.work[0];
  profile.work.clear();
  for (int i = 0; i < 300; ++i) {
    ReportGpuWork work = model;
    work.id = "K" + std::to_string(i + 1);
    work.name = i == 1 ? name_of(50) : "kernel_" + std::to_string(i);
    work.full_name = "void " + work.name + "(int)";
    work.gpu_s = 0.4 / (i + 1);
    work.percent = 16.0 / (i + 1);
    work.what_if->half = {0.1 / (i + 1), 0.08 / (i + 1), 0.13 / (i + 1)};
    profile.work.push_back(std::move(work));
  }
  profile.work_count = 412;
  profile.left_out_s = 0.0123;
  return report;
}

Report nonsense_profile_report() {
  Report report = contexts_report();
  const double not_a_number = std::numeric_limits<double>::quiet_NaN(),
               infinite = std::numeric_limits<double>::infinity();
  const std::string evil = "a;b\n</script><img src=x onerror=alert(1)>\"'\\\xff`\t&amp;";
  for (ReportContext& one : report.profile->contexts) one.name = one.file = one.module = evil;
  std::vector<ReportContext>& contexts = report.profile->contexts;
  contexts[2].cpu_s = not_a_number;
  contexts[3].cpu_s = infinite;
  contexts[4].driver_s = -1;
  contexts[5].half_gain_s = not_a_number;
  contexts[6].waited_s = -infinite;
  contexts[9].gpu_s = 1e300;
  contexts[9].work = 99;
  contexts[11].recoverable_s = infinite;
  contexts[11].line = contexts[11].called_line = -5;
  contexts[2].idle_s = infinite;
  contexts[3].idle_s = 0.4;
  contexts[5].idle_s = not_a_number;
  ReportIdle& idle = report.profile->idle.emplace();
  idle.phase_s = 1, idle.idle_s = 0.5;
  idle.between_s = infinite, idle.calls_s = not_a_number, idle.waits_s = -1;
  idle.loop_s = infinite, idle.loop_iterations = 1;
  idle.gaps = {{3, -1, 2, not_a_number, 1}, {4'000'000'000, 1, 2, 0.1, 1}, {2, -5, -5, infinite, 0}};
  idle.loops = {{evil, evil, evil, ~0ull, -1, -2, evil, evil, -3, not_a_number, 1},
                {evil, evil, evil, 0, 5, 2, evil, evil, 7, 0.3, 1}};
  for (ReportGpuWork& work : report.profile->work) {
    work.name = work.full_name = evil;
    work.gpu_s = work.percent = work.median_s = not_a_number;
    for (ReportGpuPath& one : work.paths) {
      one.via = evil;
      one.gpu_s = infinite;
      for (ReportFrame& frame : one.stack) frame.function = frame.file = evil;
    }
    if (work.what_if) {
      work.what_if->reason = evil;
      work.what_if->half = {infinite, -infinite, not_a_number};
    }
    if (work.inside) {
      ReportKernelSamples& kernel = *work.inside;
      for (std::string* text : {&kernel.why_no_lines, &kernel.reasons[0]}) *text = evil;
      for (ReportKernelNode& node : kernel.nodes) {
        node.function = node.file = evil;
        node.all.samples = infinite;
        node.own.samples = not_a_number;
        node.all.stalls.push_back({99, -1});
        node.parent = 4'000'000'000;
      }
      kernel.nodes[0].line = -3;
      kernel.hottest.push_back(999);
      kernel.busy_rate = not_a_number;
      kernel.active_rate = infinite;
      kernel.instructions_a_launch = -1e300;
      for (ReportSampledSource& source : kernel.source)
        for (ReportSampledSource::Line& line : source.lines) line = {evil, infinite, 77};
    }
    for (ReportLaunchShape& shape : work.shapes) shape.occupancy = ReportOccupancy{not_a_number, evil};
  }
  report.profile->notes = {evil};
  report.profile->gpu_s = not_a_number;
  report.timeline->names[3] = evil;
  return report;
}

Report no_contexts_report() {
  Report report = timed_report();
  report.profile.emplace();
  return report;
}

}  // namespace diogenes
