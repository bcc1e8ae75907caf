// The launcher's small parts: plan file, stage outcome, the program's environment, its standard streams over
// several runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "driver/catalogue.h"
#include "launcher/command_line/messages.h"
#include "launcher/installed/cupti.h"
#include "launcher/installed/gpu_sampling.h"
#include "launcher/installed/machine_load.h"
#include "launcher/installed/python_in_use.h"
#include "launcher/measuring/job_launcher.h"
#include "launcher/measuring/measure_sleep_costs.h"
#include "launcher/measuring/plan_file.h"
#include "launcher/measuring/resume.h"
#include "launcher/measuring/run_estimate.h"
#include "launcher/measuring/session_lock.h"
#include "launcher/measuring/stage_outcome.h"
#include "launcher/measuring/target_environment.h"
#include "launcher/process/standard_streams.h"
#include "trace/format.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

class Parts : public ::testing::Test {
 protected:
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void write_process(const std::string& name, bool used_cuda, uint8_t build_id, int installed, int planned) {
    auto process = std::make_unique<ProcessFile>();
    memcpy(process->magic, kTraceMagic, sizeof kTraceMagic);
    process->used_cuda = used_cuda;
    process->driver_build_id_length = 1;
    process->driver_build_id[0] = build_id;
    process->hook_count = static_cast<uint32_t>(planned);
    for (int i = 0; i < planned; ++i)
      process->hook_state[i] =
          static_cast<uint8_t>(i < installed ? HookState::installed : HookState::bytes_differ);
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "process", std::ios::binary)
        .write(reinterpret_cast<const char*>(process.get()), sizeof *process);
  }

  const diogenes::testing::TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
};

TEST_F(Parts, APlanIsLaidOutAsTheAgentReadsIt) {
  PlanContents contents{.stage = Stage::sync_use,
                        .driver = {},
                        .hooks = {},
                        .recorded_bytes_limit = 5,
                        .max_overhead = 2.5,
                        .baseline_s = 1.5};
  contents.driver.length = 2;
  contents.driver.bytes = {0xab, 0xcd};
  HookSite site{};
  site.entry = 0x22bb00;
  site.function = kWaitFunction;
  contents.hooks.push_back(site);
  ASSERT_TRUE(write_plan(folder_ / "plan", contents));
  std::string bytes = read(folder_ / "plan");
  ASSERT_EQ(bytes.size(), sizeof(Plan) + sizeof(HookSite));
  Plan plan{};
  memcpy(&plan, bytes.data(), sizeof plan);
  EXPECT_EQ(memcmp(plan.magic, kPlanMagic, 8), 0);
  EXPECT_EQ(plan.file_bytes, bytes.size());
  EXPECT_EQ(plan.stage, Stage::sync_use);
  EXPECT_EQ(plan.build_id[1], 0xcd);
  EXPECT_EQ(plan.max_overhead, 2.5);
  EXPECT_EQ(plan.baseline_ns, 1'500'000'000);
  HookSite read_back{};
  memcpy(&read_back, bytes.data() + sizeof plan, sizeof read_back);
  EXPECT_EQ(read_back.entry, 0x22bb00u);
}

TEST_F(Parts, APlanThatCannotBeWrittenIsAnError) {
  auto written = write_plan(folder_ / "absent" / "plan", {});
  ASSERT_FALSE(written);
  EXPECT_NE(std::string(written.error().c_str()).find("--output"), std::string::npos);
}

TEST_F(Parts, OnlyProcessesThatInitialisedTheDriverCount) {
  write_process("host-1", false, 0xaa, 0, 0);
  write_process("host-2", true, 0xaa, 3, 4);
  write_process("host-3", true, 0xbb, 0, 4);
  fs::create_directories(folder_ / "host-4");
  std::ofstream(folder_ / "host-4" / "process") << "cut";
  StageOutcome outcome = read_stage_outcome(folder_, "aa");
  EXPECT_EQ(outcome.processes, 3);
  EXPECT_EQ(outcome.used_cuda, 2);
  EXPECT_EQ(outcome.other_driver, 1);
  EXPECT_EQ(outcome.hooks_planned, 4);
}

TEST_F(Parts, TheUsersOwnPreloadAndInjectionAreKept) {
  auto environment =
      target_environment({"LD_PRELOAD=/his.so", "CUDA_INJECTION64_PATH=/other.so", "HOME=/h"},
                         {.agent = "/a/agent.so", .plan = "/s/plan", .library_folder = "/a/sim"});
  EXPECT_EQ(value_of(environment, "LD_PRELOAD"), "/a/agent.so:/his.so");
  EXPECT_EQ(value_of(environment, "CUDA_INJECTION64_PATH"), "/other.so");
  EXPECT_EQ(value_of(environment, "LD_LIBRARY_PATH"), "/a/sim");
  EXPECT_EQ(value_of(environment, "DIOGENES_PLAN"), "/s/plan");
  EXPECT_EQ(value_of(environment, "HOME"), "/h");
}

TEST_F(Parts, ThePlugInForGpuTimesComesBehindTheAgent) {
  auto environment =
      target_environment({"LD_PRELOAD=/his.so", "DIOGENES_CUPTI="}, {.agent = "/a/agent.so",
                                                                     .plan = "/s/plan",
                                                                     .plug_in = "/a/gpu-times.so",
                                                                     .cupti = "/cuda/libcupti.so.13"});
  EXPECT_EQ(value_of(environment, "LD_PRELOAD"), "/a/agent.so:/a/gpu-times.so:/his.so");
  EXPECT_EQ(value_of(environment, "DIOGENES_CUPTI"), "/cuda/libcupti.so.13");
}

TEST_F(Parts, ThePlugInThatSamplesIsNamedToThatOfGpuTimes) {
  const auto sampled = [](const fs::path& samples) {
    return target_environment({"A=b"}, {.agent = "/a/agent.so", .plan = "/s/plan", .samples = samples});
  };
  EXPECT_EQ(value_of(sampled("/a/samples.so"), "DIOGENES_GPU_SAMPLES"), "/a/samples.so");
  EXPECT_EQ(value_of(sampled("/a/samples.so"), "LD_PRELOAD"), "/a/agent.so");
  EXPECT_EQ(value_of(sampled(""), "DIOGENES_GPU_SAMPLES"), "");
}

TEST_F(Parts, PythonsLibraryComesLast) {
  auto environment = target_environment({"LD_PRELOAD=/his.so"}, {.agent = "/a/agent.so",
                                                                 .plan = "/s/plan",
                                                                 .plug_in = "/a/gpu-times.so",
                                                                 .cupti = "/cuda/libcupti.so.13",
                                                                 .python = "/a/python.so"});
  EXPECT_EQ(value_of(environment, "LD_PRELOAD"), "/a/agent.so:/a/gpu-times.so:/a/python.so:/his.so");
}

TEST_F(Parts, WithARegionTheAgentIsNamedToNvtx) {
  auto environment =
      target_environment({"HOME=/h"}, {.agent = "/a/agent.so", .plan = "/s/plan", .region = "train step"});
  EXPECT_EQ(value_of(environment, "NVTX_INJECTION64_PATH"), "/a/agent.so");
  EXPECT_EQ(value_of(environment, "DIOGENES_REGION"), "train step");
  auto without =
      target_environment({"NVTX_INJECTION64_PATH=/his.so"}, {.agent = "/a/agent.so", .plan = "/s/plan"});
  EXPECT_EQ(value_of(without, "NVTX_INJECTION64_PATH"), "/his.so");
  EXPECT_EQ(value_of(without, "DIOGENES_REGION"), "");
}

TEST_F(Parts, ARegionNeedsNvtxForItself) {
  EXPECT_TRUE(check_region("", {"NVTX_INJECTION64_PATH=/his.so"}));
  EXPECT_TRUE(check_region("step", {"NVTX_INJECTION64_PATH="}));
  Status taken = check_region("step", {"NVTX_INJECTION64_PATH=/his.so"});
  ASSERT_FALSE(taken);
  EXPECT_NE(std::string(taken.error().c_str()).find("NVTX_INJECTION64_PATH=/his.so takes"),
            std::string::npos);
}

// An interpreter is known by what it exports, whatever its name.
TEST_F(Parts, AnInterpreterIsSeenInTheModuleMap) {
  fs::create_directories(folder_ / "host-1");
  auto loads = [&](const char* path) {
    ModuleRecord record{};
    record.present = 1;
    strncpy(record.path, path, sizeof record.path - 1);
    std::ofstream(folder_ / "host-1" / "modules", std::ios::binary)
        .write(reinterpret_cast<const char*>(&record), sizeof record);
  };
  EXPECT_FALSE(runs_python(folder_ / "none"));
  for (const char* path : {"/nowhere/python3", "/proc/self/exe", "/etc/passwd"}) {
    loads(path);
    EXPECT_FALSE(runs_python(folder_)) << path;
  }
  if (!fs::exists("/usr/bin/python3")) GTEST_SKIP() << "no Python is installed here";
  loads("/usr/bin/python3");
  EXPECT_EQ(runs_python(folder_), exports("/usr/bin/python3", "_PyRuntime"));
  EXPECT_FALSE(exports("/usr/bin/python3", "malloc"));  // it takes it from another
  EXPECT_FALSE(exports("/usr/bin/python3", "_PyRuntim"));
}

TEST_F(Parts, OfTheLibrariesTheNewestThatTheDriverServesIsTaken) {
  auto library = [&](const char* place) {
    fs::create_directories((folder_ / place).parent_path());
    std::ofstream(folder_ / place) << "";
    return folder_ / place;
  };
  auto found = [&](const std::string& environment, int version) {
    return find_cupti({environment}, version, {folder_ / "new", folder_ / "old"});
  };
  EXPECT_EQ(found("A=b", 13000), "");
  auto twelve = library("old/extras/CUPTI/lib64/libcupti.so.12");
  library("old/extras/CUPTI/lib64/libcupti.so.2023.1.1");
  library("old/extras/CUPTI/lib64/libcupti.so");
  auto thirteen = library("new/lib64/libcupti.so.13");
  EXPECT_EQ(found("A=b", 13000), thirteen);
  EXPECT_EQ(found("A=b", 12080), twelve);
  EXPECT_EQ(found("A=b", 11080), "");
  EXPECT_EQ(found("A=b", 0), thirteen);
  auto near = library("near/libcupti.so.13");
  EXPECT_EQ(found("LD_LIBRARY_PATH=/nowhere:" + near.parent_path().string(), 13000), near);
  auto home = library("home/lib64/libcupti.so.13");
  EXPECT_EQ(found("CUDA_HOME=" + (folder_ / "home").string(), 13000), home);
  EXPECT_EQ(found("DIOGENES_CUPTI=/named/by/the/user.so", 11080), "/named/by/the/user.so");
}

TEST_F(Parts, WhatIsMissingForSamplesOfTheGpuIsSaid) {
  const fs::path parameters = folder_ / "params", cupti = folder_ / "cuda/libcupti.so.13";
  const auto problem = [&](const fs::path& library, const char* admin_only, bool administrator) {
    std::ofstream(parameters) << "RmMsg: \"\"\nRmProfilingAdminOnly: " << admin_only << "\nOther: 1\n";
    return sampling_problem({library, parameters, administrator});
  };
  EXPECT_NE(problem("", "0", true).find("no libcupti"), std::string::npos);
  fs::create_directories(cupti.parent_path());
  std::ofstream(cupti) << "";
  EXPECT_NE(problem(cupti, "0", true).find("libnvperf_host.so is not beside"), std::string::npos);
  std::ofstream(cupti.parent_path() / "libnvperf_host.so") << "";
  EXPECT_EQ(problem(cupti, "0", false), "");
  EXPECT_EQ(problem(cupti, "1", true), "");
  EXPECT_NE(problem(cupti, "1", false).find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  // A folder of links, as distributions have them.
  fs::create_directories(folder_ / "links");
  fs::create_symlink(cupti, folder_ / "links/libcupti.so.13");
  EXPECT_EQ(problem(folder_ / "links/libcupti.so.13", "0", false), "");
  EXPECT_EQ(sampling_problem({cupti, folder_ / "none", false}), "") << "another driver's";
}

TEST_F(Parts, TheDriversVersionTellsWhichCudaItServes) {
  EXPECT_EQ(cuda_version_of("580.95.05"), 13000);
  EXPECT_EQ(cuda_version_of("570.172.08"), 12000);
  EXPECT_EQ(cuda_version_of(""), 0);
}

TEST_F(Parts, RunsWithGuardsCopyNothingFromProcessToProcess) {
  const std::vector<std::string> users = {"UCX_TLS=all"};
  auto guarded = target_environment(users, {.agent = "/a/agent.so", .plan = "/s/plan", .guards = true});
  EXPECT_EQ(value_of(guarded, "OMPI_MCA_btl_vader_single_copy_mechanism"), "none");
  EXPECT_EQ(value_of(guarded, "UCX_TLS"), "all");
  auto traced = target_environment(users, {.agent = "/a/agent.so", .plan = "/s/plan"});
  EXPECT_EQ(value_of(traced, "OMPI_MCA_btl_vader_single_copy_mechanism"), "");
}

// 1 + 1.2 + 2 times the first run; another tracing run: 1.2 more.
TEST(RunEstimate, CountsAllRunsAndTheirUsualOverheads) {
  EXPECT_EQ(runs_sentence({.first_run_s = 10}), "3 runs, about 40 s in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 10, .tracing = 3}), "5 runs, about 65 s in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 12, .plain_run = true}), "4 runs, about 65 s in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 10, .max_overhead = 1.3}), "3 runs, about 35 s in all");
  EXPECT_EQ(
      runs_sentence({.first_run_s = 10, .follow_values = true}),
      "3 runs, about 40 s in all; one more, about 13 s, if needed waits cost 2% of the time in which the GPU is "
      "used");
}

TEST(RunEstimate, IsNoFinerThanAnEstimateCanBe) {
  EXPECT_EQ(runs_sentence({.first_run_s = 0.01}), "3 runs, about 1 s in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 2}), "3 runs, about 8 s in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 600}), "3 runs, about 42 min in all");
  EXPECT_EQ(runs_sentence({.first_run_s = 3600}), "3 runs, about 4.2 h in all");
}

// Of three processors this may use two, 0 and 2. Hundredths of a second: 100 + 20 + 30 + 1 + 2 + 7, and 200 + 0 + 40.
TEST(MachineLoad, IsWhatIsNotIdleOnTheProcessorsThatWeMayUse) {
  const std::string stat =
      "cpu  900 20 80 5000 9 1 2 7 50 0\n"
      "cpu0 100 20 30 1000 9 1 2 7 50 0\n"
      "cpu1 600 0 10 1000 0 0 0 0 0 0\n"
      "cpu2 200 0 40 3000 0 0 0 0 0 0\n"
      "intr 1 2 3\n";
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(0, &allowed);
  CPU_SET(2, &allowed);
  const auto time = processor_time(stat, allowed, 100);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->processors, 2);
  EXPECT_DOUBLE_EQ(time->busy_s, 1.6 + 2.4);
  EXPECT_FALSE(processor_time("cpu  1 2 3\n", allowed, 100));
  EXPECT_FALSE(processor_time("", allowed, 100));
}

TEST(Progress, CountsInUnitsThatAreReadAtAGlance) {
  const auto text = [](int64_t seconds) { return elapsed_text({seconds * 1'000'000'000}); };
  EXPECT_EQ(text(1), "1 s");
  EXPECT_EQ(text(59), "59 s");
  EXPECT_EQ(text(185), "3 min 05 s");
  EXPECT_EQ(text(3720), "1 h 02 min");
}

TEST_F(Parts, APlainRunHasNothingOfOurs) {
  EXPECT_EQ(target_environment({"HOME=/h"}, {}), std::vector<std::string>{"HOME=/h"});
}

TEST_F(Parts, OnlyWhatMattersOfTheEnvironmentIsRecorded) {
  auto kept = environment_that_matters({"SECRET=1", "CUDA_VISIBLE_DEVICES=0", "OMP_NUM_THREADS=2"});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].first, "CUDA_VISIBLE_DEVICES");
}

TEST_F(Parts, AJobsRanksAreNotMeasuredEachForItself) {
  const std::vector<std::string> command = {"./app", "two words"};
  const auto said = [&](const std::vector<std::string>& environment) {
    return started_for_each_rank(environment, command);
  };
  const std::string open_mpi = said({"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1"});
  EXPECT_NE(open_mpi.find("mpirun started this diogenes 2 times (OMPI_COMM_WORLD_SIZE=2)"), std::string::npos)
      << open_mpi;
  EXPECT_NE(open_mpi.find(": diogenes run -- mpirun -n 2 ./app 'two words'; "), std::string::npos)
      << open_mpi;
  EXPECT_NE(said({"PMI_RANK=0", "PMI_SIZE=4"}).find("-- mpirun -n 4 ./app"), std::string::npos);
  EXPECT_NE(said({"WORLD_SIZE=8", "RANK=3", "LOCAL_RANK=3", "TORCHELASTIC_RUN_ID=none"})
                .find("-- torchrun --no-python --nproc-per-node 8 ./app"),
            std::string::npos);
  EXPECT_NE(said({"SLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_ID=0", "SLURM_PROCID=0",
                  "PMI_SIZE=2", "PMI_RANK=0"})
                .find("-- srun -n 2 ./app"),
            std::string::npos);

  // One rank is measured as any program.
  EXPECT_EQ(said({"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0"}), "");
  EXPECT_EQ(said({"PMI_SIZE=1", "PMI_RANK=0"}), "");
  EXPECT_EQ(said({"WORLD_SIZE=1", "RANK=0", "LOCAL_RANK=0"}), "");
  EXPECT_EQ(said({"SLURM_NTASKS=4", "SLURM_STEP_NUM_TASKS=1", "SLURM_STEP_ID=0", "SLURM_PROCID=0"}), "");
  // A batch script of four tasks, before it starts them; a script that sets a size for others; what is no number.
  EXPECT_EQ(said({"SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_LOCALID=0"}), "");
  EXPECT_EQ(said({"WORLD_SIZE=4", "MASTER_ADDR=here"}), "");
  EXPECT_EQ(said({"OMPI_COMM_WORLD_SIZE=2x", "OMPI_COMM_WORLD_RANK=0"}), "");
  EXPECT_EQ(said({}), "");
}

TEST_F(Parts, ResumingKeepsTheRunsBeforeTheFirstThatIsNotComplete) {
  for (const char* name : {"baseline", "tracing", "memory-tracing"}) {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "plan") << "plan";
  }
  fs::create_directories(folder_ / "tracing-2");
  fs::create_directories(folder_ / "notes");
  Session session;
  session.runs = {{"plain", "", "complete"},
                  {"baseline", "baseline", "complete"},
                  {"tracing", "tracing", "interrupted"},
                  {"memory-tracing", "memory-tracing", "complete"}};
  session.notices = {"baseline: stays", "tracing: interrupted", "memory-tracing: goes", "stays"};
  keep_complete_runs(folder_, session);
  ASSERT_EQ(session.runs.size(), 2u);
  EXPECT_EQ(session.runs.back().name, "baseline");
  EXPECT_EQ(session.notices, (std::vector<std::string>{"baseline: stays", "stays"}));
  ASSERT_TRUE(remove_other_runs(folder_, session));
  EXPECT_TRUE(fs::exists(folder_ / "baseline" / "plan"));
  EXPECT_TRUE(fs::exists(folder_ / "notes")) << "it is none of ours";
  for (const char* name : {"tracing", "tracing-2", "memory-tracing"})
    EXPECT_FALSE(fs::exists(folder_ / name)) << name;
}

// Stage 1 runs again in the same folder where the program brings its own driver.
TEST_F(Parts, ResumingMakesBothRunsOfOneFolderAgain) {
  fs::create_directories(folder_ / "baseline");
  std::ofstream(folder_ / "baseline" / "plan") << "plan";
  Session session;
  session.runs = {{"baseline", "baseline", "complete"}, {"baseline", "baseline", "running"}};
  keep_complete_runs(folder_, session);
  EXPECT_TRUE(session.runs.empty());
}

TEST_F(Parts, ASessionIsLockedByOneLauncher) {
  SessionLock one, other;
  EXPECT_TRUE(one.take(folder_));
  EXPECT_FALSE(other.take(folder_));
}

TEST_F(Parts, ProcessesOfASessionAreFoundByTheirPlan) {
  fs::path session = full_path(folder_.string() + "/");
  EXPECT_TRUE(running_processes(session).empty());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[1]);
    std::string plan = "DIOGENES_PLAN=" + session.string() + "/tracing/plan";
    const char* environment[] = {"A=B", plan.c_str(), nullptr};
    execle("/bin/cat", "cat", nullptr, environment);
    _exit(127);
  }
  close(ends[0]);
  // The kernel names the new program before its environment is there.
  auto is_cat = [&] {
    std::ifstream variables(fmt::format("/proc/{}/environ", child));
    return fs::read_symlink(fmt::format("/proc/{}/exe", child)).filename() == "cat" &&
           variables.peek() != std::ifstream::traits_type::eof();
  };
  while (!is_cat()) usleep(1000);
  EXPECT_EQ(running_processes(session), std::vector<pid_t>{child});
  EXPECT_TRUE(running_processes(session.parent_path() / "other").empty());
  close(ends[1]);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(running_processes(session).empty());
}

// Runs `script` as often as `folders` says, with our stdin and stdout replaced, and returns the notices.
class Streams : public Parts {
 protected:
  std::vector<std::string> run(const std::string& script, const std::vector<std::string>& folders, int in,
                               int out) {
    int old_in = dup(0), old_out = dup(1);
    dup2(in, 0);
    dup2(out, 1);
    std::vector<std::string> notices;
    {
      StandardStreams streams(folder_, {});
      for (auto& name : folders) {
        fs::create_directories(folder_ / name);
        Target target{.program = "/bin/sh",
                      .arguments = {"sh", "-c", script, "sh", name},
                      .environment = {"PATH=/usr/bin:/bin"}};
        streams.route(target, folder_ / name);
        auto result = run_target(target);
        EXPECT_TRUE(result);
        for (auto& difference : streams.finish(*result)) notices.push_back(name + ": " + difference);
      }
    }
    dup2(old_in, 0);
    dup2(old_out, 1);
    close(old_in);
    close(old_out);
    return notices;
  }
};

TEST_F(Streams, AFileAsInputIsReadAgainByEveryRun) {
  std::ofstream(folder_ / "input") << "skipped\nfirst\nsecond\n";
  int in = open((folder_ / "input").c_str(), O_RDONLY | O_CLOEXEC);
  lseek(in, 8, SEEK_SET);
  int out = open((folder_ / "output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  EXPECT_TRUE(run("cat", {"1", "2", "3"}, in, out).empty());
  EXPECT_EQ(read(folder_ / "output"), "first\nsecond\n") << "only the first run writes to our stdout";
  EXPECT_EQ(read(folder_ / "3" / "stdout"), "first\nsecond\n");
  EXPECT_EQ(lseek(in, 0, SEEK_CUR), 21) << "as if it had run once";
  close(in);
  close(out);
}

TEST_F(Streams, APipeAsInputIsKept) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "hello\n", 6), 6);
  close(ends[1]);
  int out = open((folder_ / "output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  EXPECT_TRUE(run("cat", {"1", "2"}, ends[0], out).empty());
  EXPECT_EQ(read(folder_ / "output"), "hello\n");
  EXPECT_EQ(read(folder_ / "2" / "stdout"), "hello\n");
  close(ends[0]);
  close(out);
}

TEST_F(Streams, ALaterRunThatDiffersIsNamed) {
  int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int out = open((folder_ / "output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  auto notices = run("echo same; echo run $1", {"1", "2"}, in, out);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0], "2: stdout differs from the first run's at line 2, in numbers only");
  close(in);
  close(out);
}

TEST_F(Streams, WhereTheFirstRunsOutputIsNotKnownTheLaterOnesAreCompared) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  auto notices = run("echo run $1", {"1", "2", "3"}, null, null);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0], "3: stdout differs from an earlier run's at line 1, in numbers only");
  close(null);
}

TEST(SleepCosts, OfEachLengthOneMedian) {
  const auto costs = measure_sleep_costs();
  ASSERT_FALSE(costs.empty());
  for (size_t i = 0; i < costs.size(); ++i) {
    EXPECT_GT(costs[i].slept, i > 0 ? costs[i - 1].slept : 0);
    EXPECT_GT(costs[i].wakes_after, 0);
    EXPECT_GT(costs[i].waker_pays, 0);
  }
}

}  // namespace
}  // namespace diogenes::launcher
