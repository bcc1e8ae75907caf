// `diogenes profile` on the examples, with the simulated driver: one run, in which the program does what it does alone;
// GPU time by launch path sums to that of the GPU's work, and contexts of the CPU to the threads' time.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "measured.h"
#include "trace/reader.h"
#include "trace/session.h"

namespace diogenes::e2e {
namespace {

using nlohmann::json;

struct Profiled {
  bench::ProcessRun alone, run;
  json report;
};

// `look`, if any, gets the session's folder. `variable`: one more in the environment.
Profiled profiled(const std::vector<std::string>& command, const std::vector<std::string>& options = {},
                  const std::function<void(const std::string&)>& look = {},
                  const std::string& variable = "A=") {
  Profiled out;
  out.alone = run_alone(command);
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  std::vector<std::string> words = {
      built("bin/diogenes"),       "profile", "--driver", "simulated", "--output", session, "--report",
      folder.path() / "report.txt"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  out.run = bench::run_process(words, {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache"), variable}});
  std::ifstream in(session + "/report.json");
  out.report = json::parse(in, nullptr, false);
  if (look) look(session);
  return out;
}

class Profile : public testing::TestWithParam<const char*> {};

TEST_P(Profile, SumsAreThoseOfTheWholeAndTheProgramIsUnharmed) {
  const Profiled found = profiled({built(std::string("bin/examples/") + GetParam()), "--iterations", "60"});
  EXPECT_EQ(found.run.exit_status, found.alone.exit_status) << found.run.errors;
  EXPECT_EQ(found.run.output, found.alone.output);
  ASSERT_TRUE(found.report.is_object()) << found.run.errors;
  EXPECT_FALSE(found.report.at("judged").get<bool>());
  EXPECT_TRUE(found.report.at("problems").empty());
  const json& profile = found.report.at("profile");

  double kernels = 0, by_path = 0;
  std::map<int, double> of_work;  // by position
  int position = 0;
  for (const json& work : profile.at("work")) {
    kernels += work.at("gpu_s").get<double>();
    of_work[position++] = work.at("gpu_s");
    for (const json& path : work.at("paths")) by_path += path.at("gpu_s").get<double>();
  }
  EXPECT_GT(kernels, 0);
  EXPECT_NEAR(by_path, kernels, kernels * 1e-3);
  EXPECT_NEAR(profile.at("gpu_s").get<double>(), kernels, kernels * 1e-3);

  double threads = profile.value("recording_s", 0.0), gpu = 0, idle = 0;
  for (const json& context : profile.at("contexts")) {
    const json& own = context.at("own");
    for (const char* time : {"cpu_s", "driver_s", "waited_s"}) threads += own.value(time, 0.0);
    gpu += own.value("gpu_s", 0.0);
    idle += own.value("idle_s", 0.0);
    if (context.contains("work")) of_work[context["work"]] -= own.value("gpu_s", 0.0);
  }
  const double all = profile.at("threads_s");
  EXPECT_GT(all, 0);
  EXPECT_NEAR(threads, all, all * 1e-2);
  EXPECT_NEAR(gpu, kernels, kernels * 1e-3);
  const json& of_gpu = profile.at("idle");
  double meanwhile = 0;
  for (const char* part : {"between_s", "calls_s", "waits_s", "launching_s", "recording_s"})
    meanwhile += of_gpu.at(part).get<double>();
  EXPECT_GT(of_gpu.at("phase_s"), 0);
  EXPECT_NEAR(meanwhile, of_gpu.at("idle_s").get<double>(), all * 1e-3);
  EXPECT_NEAR(idle, meanwhile - of_gpu.at("recording_s").get<double>(), all * 1e-3);
  for (auto [work, rest] : of_work) EXPECT_NEAR(rest, 0, kernels * 1e-3) << work;
}

INSTANTIATE_TEST_SUITE_P(, Profile, testing::Values("als", "cfd", "multigrid", "gaussian", "transfers"));

TEST(ProfileCommand, NamesTheKernelsOfTheProgram) {
  const Profiled found = profiled({built("bin/examples/als"), "--iterations", "10"});
  ASSERT_TRUE(found.report.is_object()) << found.run.errors;
  const json& first = found.report.at("profile").at("work").at(0);
  EXPECT_EQ(first.at("name"), "add");
  EXPECT_EQ(first.at("kind"), "kernel");
  EXPECT_EQ(first.at("shapes").at(0).at("block").at(0), 256);
}

TEST(ProfileCommand, NamesWhatTheProgramWaitsForAndJudgesNothing) {
  std::string text;
  const Profiled found =
      profiled({built("bin/examples/als"), "--iterations", "40"}, {}, [&](const std::string& session) {
        std::ifstream in(session + "/../report.txt");
        text = {std::istreambuf_iterator<char>(in), {}};
      });
  ASSERT_TRUE(found.report.is_object()) << found.run.errors;
  const json& waits = found.report.at("required");
  ASSERT_FALSE(waits.empty()) << text;
  for (const json& wait : waits) {
    if (wait.at("sends").get<bool>()) continue;
    EXPECT_EQ(wait.at("not_judged"), wait.at("count"));
    EXPECT_EQ(wait.at("reasons").at(0).at("code"), "profiled");
    EXPECT_GT(wait.at("up_to_s"), 0);
    EXPECT_EQ(wait.at("where").at("function").get<std::string>().empty(), false);
  }
  EXPECT_NE(text.find("Waits not judged that cost most"), std::string::npos) << text;
  EXPECT_NE(text.find("not judged: a profile watches no memory"), std::string::npos) << text;
  const json& loop = found.report.at("main_loop");
  ASSERT_TRUE(loop.is_object());
  EXPECT_GE(loop.at("iterations"), 38);
  EXPECT_GT(loop.at("seconds"), 0);
  EXPECT_NE(text.find("the main loop made "), std::string::npos) << text;
}

// The samples that the run's one process left.
GpuSamples samples_in(const std::string& session, Stage run = Stage::gpu_times) {
  const Result<StageTrace> stage = read_stage(session + "/" + run_name(run, 1));
  EXPECT_TRUE(stage.ok());
  EXPECT_EQ(stage->processes.size(), 1u);
  EXPECT_TRUE(stage->missing.empty());
  return stage->processes.at(0).gpu_samples;
}

// The example's kernel `add` plays one of a compiled program: 7 samples of each launch, of which 3 are latency samples, at one
// instruction, and 2 at another.
TEST(ProfileCommand, TakesSamplesOfKernelsAndKeepsTheirCode) {
  const std::string list = built("e2e-samples.txt"), code = E2E_CUBINS "/subject_sm_90.cubin";
  std::ofstream(list) << "code " << code << "\nkernel add _Z6directPfi\n"
                      << "sample 30 long_scoreboard 7 3\nsample 50 selected 2 0\n";
  const std::string variable = "DIOGENES_SIMULATED_SAMPLES=" + list;
  GpuSamples samples;
  const auto take = [&](const std::string& session) { samples = samples_in(session); };
  const Profiled found = profiled({built("bin/examples/als"), "--iterations", "10"}, {}, take, variable);
  ASSERT_TRUE(found.report.is_object()) << found.run.errors;
  EXPECT_EQ(found.run.output, found.alone.output);
  const json& first = found.report.at("profile").at("work").at(0);
  EXPECT_EQ(first.at("name"), "direct");
  const uint64_t launches = first.at("count");
  EXPECT_GT(launches, 0u);
  const json& inside = first.at("inside");
  ASSERT_TRUE(inside.is_object());
  EXPECT_EQ(inside.at("nodes").at(0).at("all").at("samples"), 9.0 * static_cast<double>(launches));
  EXPECT_EQ(inside.at("nodes").at(0).at("all").at("stalls").at(0).at("reason"), "long_scoreboard");
  EXPECT_NEAR(inside.at("issue_rate").get<double>(), 6.0 / 9, 1e-9);
  EXPECT_TRUE(inside.at("why_no_lines").is_null());
  // 9 samples of 2,048 cycles a launch, beside those of 132 multiprocessors with 1 GHz while it ran.
  EXPECT_NEAR(
      inside.at("active_rate").get<double>(),
      std::min(1.0,
               9.0 * 2048 / (1e9 * first.at("gpu_s").get<double>() / static_cast<double>(launches) * 132)),
      1e-3);
  EXPECT_EQ(samples.reasons, (std::vector<std::string>{"long_scoreboard", "selected"}));
  EXPECT_EQ(samples.functions, std::vector<std::string>{"_Z6directPfi"});
  EXPECT_EQ(samples.period_cycles, 2048u);
  EXPECT_EQ(samples.total, 9 * launches);
  EXPECT_EQ(samples.why_none, "");
  ASSERT_EQ(samples.modules.size(), 1u);
  EXPECT_EQ(samples.modules[0].why_none, "");
  EXPECT_NE(samples.modules[0].code, "");
  ASSERT_EQ(samples.instructions.size(), 2u);
  EXPECT_EQ(samples.instructions[0].offset, 0x30u);
  ASSERT_EQ(samples.instructions[0].reasons.size(), 1u);
  EXPECT_EQ(samples.instructions[0].reasons[0].samples, 7 * launches);
  EXPECT_EQ(samples.instructions[0].reasons[0].latency_samples, 3 * launches);
  EXPECT_EQ(samples.instructions[1].offset, 0x50u);
  EXPECT_EQ(samples.instructions[1].reasons.at(0).samples, 2 * launches);

  const Profiled without =
      profiled({built("bin/examples/als"), "--iterations", "10"}, {"--samples", "off"}, take, variable);
  ASSERT_TRUE(without.report.is_object()) << without.run.errors;
  EXPECT_TRUE(samples.instructions.empty());
  EXPECT_EQ(without.report.at("profile").at("work").at(0).at("name"), "add");
}

TEST(RunCommand, TakesSamplesOnRequestAlone) {
  const std::string list = built("e2e-samples-of-run.txt");
  std::ofstream(list) << "code " E2E_CUBINS
                         "/subject_sm_90.cubin\nkernel add _Z6directPfi\nsample 30 selected 2 0\n";
  setenv("DIOGENES_SIMULATED_SAMPLES", list.c_str(), 1);
  GpuSamples samples;
  const auto take = [&](const std::string& session) { samples = samples_in(session, Stage::memory_tracing); };
  const std::vector<std::string> als = {built("bin/examples/als"), "--iterations", "3"};
  EXPECT_EQ(run_measured(als, "", take, kNoBudget, {"--samples"}).run.exit_status, 0);
  ASSERT_EQ(samples.instructions.size(), 1u);
  EXPECT_EQ(samples.instructions[0].reasons.at(0).samples, samples.total);
  EXPECT_GT(samples.total, 0u);
  EXPECT_EQ(run_measured(als, "", take).run.exit_status, 0);
  EXPECT_TRUE(samples.instructions.empty());
  unsetenv("DIOGENES_SIMULATED_SAMPLES");
}

// Of the first 5,000 calls all GPU times are recorded, and then of a part: sums count for all.
TEST(ProfileCommand, OfManyShortKernelsAPartTellsOfAll) {
  const std::string program = built("bin/tests/programs/short_work");
  const Profiled all = profiled({program}, {"--all-gpu-times"}), part = profiled({program});
  ASSERT_TRUE(all.report.is_object()) << all.run.errors;
  ASSERT_TRUE(part.report.is_object()) << part.run.errors;
  const auto said = [](const json& report) {
    return report.at("profile").value("notes", json::array()).dump().find("--all-gpu-times") !=
           std::string::npos;
  };
  EXPECT_FALSE(said(all.report));
  EXPECT_TRUE(said(part.report)) << part.report.at("profile").value("notes", json::array()).dump();
  const json &one = all.report.at("profile").at("work").at(0),
             &other = part.report.at("profile").at("work").at(0);
  EXPECT_EQ(one.at("count"), 60'010);
  EXPECT_EQ(other.at("count"), 60'010);
  const double time = one.at("gpu_s");
  EXPECT_NEAR(other.at("gpu_s").get<double>(), time, time * 0.02);
  ASSERT_EQ(one.at("paths").size(), 2u);
  ASSERT_EQ(other.at("paths").size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(other["paths"][i]["count"], one["paths"][i]["count"]);
    const double of_path = one["paths"][i]["gpu_s"];
    EXPECT_NEAR(other["paths"][i]["gpu_s"].get<double>(), of_path, of_path * 0.05);
  }
}

// Where the CPU may be sampled: its loops, but not the one that gives the GPU work in each turn.
TEST(ProfileCommand, LoopsOfTheCpuAreNamedByTheirLines) {
  const Profiled found = profiled({built("bin/tests/programs/cpu_loops")});
  ASSERT_TRUE(found.report.is_object()) << found.run.errors;
  EXPECT_EQ(found.run.output, found.alone.output);
  const json& idle = found.report.at("profile").at("idle");
  if (idle.at("asleep_s").is_null()) GTEST_SKIP() << "the CPU may not be sampled here";
  std::istringstream said(found.alone.output);
  std::map<std::string, std::pair<int, int>> lines;
  for (int i = 0; i < 2; ++i) {
    std::string name;
    said >> name;
    said >> lines[name].first >> lines[name].second;
  }
  std::map<std::string, double> seconds;
  for (const json& loop : idle.at("loops")) {
    const std::string function = loop.at("function");
    const std::string name = function.find("relax(") != std::string::npos ? "relax" : "walk";
    EXPECT_NE(function.find(name + "("), std::string::npos) << loop.dump();
    const auto& [first, last] = lines[name];
    EXPECT_GE(loop.at("first_line"), first) << loop.dump();
    EXPECT_LE(loop.at("last_line"), last) << loop.dump();
    EXPECT_EQ(loop.at("caller"), "main");
    seconds[name] += loop.at("seconds").get<double>();
  }
  ASSERT_EQ(seconds.size(), 2u) << idle.at("loops").dump();
  double all = 0;
  for (const auto& [name, of_loop] : seconds) all += of_loop;
  const double between = idle.at("between_s"), asleep = idle.at("asleep_s");
  EXPECT_GE(all, 0.8 * (between - asleep));
  EXPECT_LE(all, between * 1.001);
}

TEST(ProfileCommand, OfAProgramWithoutCudaItSaysThatThereIsNothing) {
  const Profiled found = profiled({built("bin/tests/programs/no_cuda")});
  EXPECT_EQ(found.run.exit_status, found.alone.exit_status);
  EXPECT_NE(found.run.errors.find("nothing to measure"), std::string::npos) << found.run.errors;
}

TEST(ProfileCommand, OfAProgramThatForksItIsTheSame) {
  const Profiled found = profiled({built("bin/tests/programs/fork")});
  EXPECT_EQ(found.run.exit_status, found.alone.exit_status) << found.run.errors;
  EXPECT_EQ(found.run.output, found.alone.output);
}

}  // namespace
}  // namespace diogenes::e2e
