#include "views/testing/sample_reports.h"

namespace diogenes {
namespace profiled {
namespace {

using Kind = ReportContext::Kind;

constexpr const char* kSource = "/home/me/als/src/als.cc";

ReportFrame at(const char* function, const char* file, int line) {
  return {function, file, line, "/home/me/als/build/als", 0x1000u + static_cast<unsigned>(line), false};
}

ReportWhatIf what_if(double half_s, double none_s) {
  const auto gain = [](double seconds) { return ReportGain{seconds, 0.98 * seconds, 1.02 * seconds}; };
  return {gain(half_s), gain(none_s), std::nullopt, std::nullopt, ""};
}

std::vector<ReportGpuWork> work() {
  ReportGpuWork gemm;
  gemm.id = "K1";
  gemm.name = "als::gemm<float, als::Tile<128, 64>, als::Epilogue<als::Add<float>, als::Scale<float>>>";
  gemm.full_name = "void " + gemm.name + "(float const*, float const*, float*, int)";
  gemm.count = 1000;
  gemm.gpu_s = 0.5, gemm.percent = 62.5;
  gemm.shortest_s = 0.00045, gemm.median_s = 0.0005, gemm.longest_s = 0.0007;
  gemm.least_s = gemm.most_s = 0.5;
  gemm.shapes = {{{64, 8, 1}, {256, 1, 1}, 96, 16384, 32768, 900, 0.46, ReportOccupancy{25, "registers"}},
                 {{8, 8, 1}, {128, 1, 1}, 96, 16384, 0, 100, 0.04, ReportOccupancy{31.25, "shared memory"}}};
  gemm.shape_count = 2;
  gemm.paths = {{at("als::update_x(int)", kSource, 160),
                 "",
                 {at("als::update_x(int)", kSource, 160), at("als::iterate(int)", kSource, 204),
                  at("main", "/home/me/als/src/main.cc", 31)},
                 600,
                 0.3,
                 what_if(0.06, 0.12)},
                {at("als::update_theta(int)", kSource, 120),
                 "cublasSgemm",
                 {at("als::update_theta(int)", kSource, 120), at("als::iterate(int)", kSource, 205),
                  at("main", "/home/me/als/src/main.cc", 31)},
                 400,
                 0.2,
                 std::nullopt}};
  gemm.path_count = 2;
  gemm.what_if = what_if(0.1, 0.15);
  gemm.what_if->half_fixed = ReportGain{0.2, 0.19, 0.21};
  gemm.what_if->none_fixed = ReportGain{0.4, 0.38, 0.42};
  ReportGpuWork copy;
  copy.id = "K2";
  copy.kind = ReportGpuWork::Kind::to_device;
  copy.name = copy.full_name = "copy to the device";
  copy.count = 500;
  copy.gpu_s = 0.2, copy.percent = 25;
  copy.shortest_s = 0.0001, copy.median_s = 0.0004, copy.longest_s = 0.0005;
  copy.least_s = copy.most_s = 0.2;
  copy.bytes = 2'000'000'000;
  copy.paths = {{at("als::iterate(int)", kSource, 190),
                 "thrust::copy",
                 {at("als::iterate(int)", kSource, 190), at("main", "/home/me/als/src/main.cc", 31)},
                 500,
                 0.2,
                 std::nullopt}};
  copy.path_count = 1;
  copy.what_if = what_if(0.0625, 0.125);
  copy.what_if->half.low_s = 0.01;
  copy.what_if->reason = "whether kernels of different streams can overlap is not known";
  ReportGpuWork error;
  error.id = "K3";
  error.name = error.full_name = "als::sum_of_errors";
  error.count = 500;
  error.gpu_s = 0.1, error.percent = 12.5;
  error.shortest_s = error.median_s = error.longest_s = 0.0002;
  error.least_s = 0.04, error.most_s = 0.06;
  error.in_graphs = true;
  error.what_if = what_if(0, 0);
  return {gemm, copy, error};
}

ReportContext context(uint32_t parent, Kind kind, const char* name, double cpu_s, int line, int called_line) {
  ReportContext made;
  made.parent = parent;
  made.kind = kind;
  made.name = name;
  made.cpu_s = cpu_s;
  made.line = line;
  made.called_line = called_line;
  made.threads = 1;
  if (kind != Kind::frame) return made;
  made.file = kSource;
  made.module = "/home/me/als/build/als";
  made.language = "c++";
  return made;
}

ReportContext call(uint32_t parent, const char* name, double driver_s, double waited_s, uint64_t count,
                   int line) {
  ReportContext made = context(parent, Kind::call, name, 0, 0, line);
  made.driver_s = driver_s;
  made.waited_s = waited_s;
  made.count = count;
  return made;
}

ReportContext gpu(uint32_t parent, int32_t position, const ReportProfile& profile, double gpu_s,
                  uint64_t count) {
  ReportContext made = context(parent, Kind::gpu, "", 0, 0, 0);
  made.work = position;
  made.name = profile.work[static_cast<size_t>(position)].name;
  made.gpu_s = gpu_s;
  made.count = count;
  return made;
}

}  // namespace

// A namespace of its own: the names of this file are short ones.
static Report report() {
  Report report = als_report();
  ReportProfile& profile = report.profile.emplace();
  profile.gpu_s = 0.8;
  profile.gpu_busy_s = 0.75;
  profile.threads_s = 1.25;
  profile.idle =
      ReportIdle{.phase_s = 1.0,
                 .idle_s = 0.25,
                 .between_s = 0.18,
                 .calls_s = 0,
                 .waits_s = 0.03,
                 .launching_s = 0.04,
                 .loop_s = 0.8,
                 .loop_idle_s = 0.2,
                 .loop_iterations = 500,
                 .gaps = {{4, 112, 120, 0.1, 400}, {2, 190, 160, 0.05, 1}},
                 .loops = {{"als::normalize(float*, int)", "/home/kim/als/als.cc", "/home/kim/als/als",
                            0x4010, 301, 306, "als::iterate(int)", "/home/kim/als/als.cc", 188, 0.04, 8},
                           {"", "", "/home/kim/als/libfast.so", 0x1251, 0, 0, "", "", 0, 0.01, 2}}};
  profile.recording_s = 0.05;
  profile.pieces = 2000;
  profile.work = work();
  profile.work_count = 3;
  profile.contexts = {context(0, Kind::root, "als", 0, 0, 0),
                      context(0, Kind::frame, "main", 0.1, 20, 0),
                      context(1, Kind::frame, "als::iterate(int)", 0.05, 180, 31),
                      context(2, Kind::frame, "als::update_x(int)", 0.1, 150, 204),
                      context(2, Kind::frame, "als::update_theta(int)", 0.15, 110, 205),
                      context(1, Kind::frame, "als::read_ratings(char const*)", 0.19, 40, 25),
                      call(3, "cudaLaunchKernel", 0.02, 0, 600, 160),
                      call(3, "cudaFree", 0.01, 0.2, 500, 170),
                      call(4, "cudaLaunchKernel", 0.01, 0, 400, 120),
                      call(2, "cudaMemcpy", 0.02, 0.25, 500, 190),
                      call(2, "cudaDeviceSynchronize", 0, 0.1, 500, 210)};
  profile.contexts[2].idle_s = 0.05;  // of 0.05 between calls
  profile.contexts[4].idle_s = 0.13;
  profile.contexts[6].idle_s = 0.04;
  profile.contexts[10].idle_s = 0.03;
  profile.contexts.push_back(gpu(6, 0, profile, 0.3, 600));
  profile.contexts.push_back(gpu(8, 0, profile, 0.2, 400));
  profile.contexts.push_back(gpu(9, 1, profile, 0.2, 500));
  profile.contexts.push_back(gpu(6, 2, profile, 0.1, 500));
  profile.contexts[7].recoverable_s = 0.1;
  profile.contexts[9].recoverable_s = 0.088;
  profile.contexts[11].half_gain_s = 0.06;
  profile.contexts[12].half_gain_s = 0.04;
  profile.contexts[13].half_gain_s = 0.0625;
  profile.contexts[14].half_gain_s = 0;
  for (ReportContext& one : profile.contexts)
    if (one.half_gain_s) one.none_gain_s = 1.5 * *one.half_gain_s;
  profile.notes = {"50.0 ms of the threads' time was taken by the recording itself and is in no context"};
  return report;
}

}  // namespace profiled

Report profiled_report() { return profiled::report(); }

}  // namespace diogenes
