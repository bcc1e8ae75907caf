// From samples to the report's profile: kernels, their places in the tree, and what these gain. Times in microseconds.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/kernel_samples/testing/samples_of.h"
#include "analysis/profile/profile.h"
#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
using Kind = ReportContext::Kind;

const char* const kScaled = "_Z6scaledILi2EEvPfi";

Run loaded(const std::filesystem::path& stage, SiteTable& sites, Load what) {
  auto run = load_run(stage, sites, what);
  return std::move(*run);
}

// scaled<2> takes 40 us and is launched in two places, 30 and 10; all of it is waited for.
class ProfileInside : public ::testing::Test {
 protected:
  ReportProfile made_of(const std::vector<ProcessGpuSamples>& samples) {
    auto trace = timeline().launch(1).from(0x10).on_gpu(at(1), lasting(30), kScaled).launch(1).from(0x20);
    trace.on_gpu(at(31), lasting(10), kScaled).sync(lasting(39)).work(5).sync(lasting(0));
    ProcessOptions options{.launches_traced = true};
    write_process(folder_.path() / "2", trace, options);
    options.stage = Stage::gpu_times;
    write_process(folder_.path() / "gpu", trace, options);
    SiteTable sites;
    diogenes::Run run = loaded(folder_.path() / "2", sites, Load::operations);
    diogenes::Run gpu_run = loaded(folder_.path() / "gpu", sites, Load::gpu_times);
    const GpuTimesFound times = join_gpu_times(run, gpu_run, sites, kAssumedMachine);
    GpuWorkFound work = find_gpu_work(gpu_run, sites);
    join_gpu_work(run, gpu_run, sites, work);
    const EventGraph graph = build_graph(run, sites);
    const Replay replay(run, sites, graph, ReplayOptions{.machine = times.machine, .calibrated = true});
    StackNames names({}, folder_.path() / "names.json");
    names.find(sites);
    return make_profile({.tracing = run,
                         .sites = sites,
                         .work = &work,
                         .names = names,
                         .replay = [&] { return &replay; },
                         .samples = [] { return std::vector<std::vector<UnwoundSample>>(); },
                         .idle = [] { return std::vector<GpuIdle>(); },
                         .gpu_samples = samples,
                         .source =
                             [](const std::string&, int first, int) {
                               return ReportSource{first, {"pragma", "pragma", "for", "data", "}"}};
                             }});
  }
  TemporaryFolder folder_;
};

TEST_F(ProfileInside, SharesTimeAndGainsTheRun) {
  SamplesOf samples("subject_sm_90");
  samples.line(kScaled, 5, 2, 100).line(kScaled, 19, 3, 50).line(kScaled, 20, 3, 50);
  const ReportProfile profile = made_of({samples.made()});
  ASSERT_EQ(profile.work.size(), 1u);
  ASSERT_TRUE(profile.work[0].inside);
  const ReportKernelSamples& kernel = *profile.work[0].inside;
  const ReportKernelNode& loop = kernel.nodes[kernel.hottest[0]];
  EXPECT_EQ(kernel.share(loop.all.samples), 0.75);
  // 75% of 40 us are 30; half of them less gains 15, as all of the kernel is waited for.
  ASSERT_TRUE(loop.what_if);
  EXPECT_NEAR(loop.what_if->half.seconds * 1e6, 15, 0.2);
  // Two launches, each with the same shares.
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_EQ(kernel.notes[0].substr(0, 30), "it is launched in 2 places; sa");
  ASSERT_EQ(kernel.source.size(), 1u);
  EXPECT_EQ(kernel.source[0].first, 16);
  EXPECT_EQ(kernel.source[0].lines[3].samples, 50);
  double all_s = 0, lines_s = 0;
  int loops = 0, launches = 0;
  for (const ReportContext& one : profile.contexts) {
    all_s += one.gpu_s;
    loops += one.kind == Kind::gpu_loop;
    launches += one.kind == Kind::gpu;
    if (one.kind == Kind::gpu_line && one.name.ends_with(":5")) lines_s += one.gpu_s;
  }
  EXPECT_EQ(loops, launches);
  EXPECT_NEAR(all_s * 1e6, 40, 0.01);
  EXPECT_NEAR(lines_s * 1e6, 20, 0.01);  // half of the samples
}

TEST_F(ProfileInside, WithoutSamplesItIsAsBefore) {
  const ReportProfile profile = made_of({});
  EXPECT_FALSE(profile.work[0].inside);
  EXPECT_TRUE(profile.no_samples.empty());
  SamplesOf samples("subject_sm_90");
  samples.made().samples.why_none = "not\tallowed";
  EXPECT_EQ(made_of({samples.made()}).no_samples, "not?allowed");
}

}  // namespace
}  // namespace diogenes
