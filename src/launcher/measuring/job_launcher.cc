#include "launcher/measuring/job_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "launcher/measuring/session_folder.h"
#include "launcher/measuring/target_environment.h"

namespace diogenes::launcher {
namespace {

// A process is one of a job's ranks where the size is there, and all of `also`. A batch script of Slurm has SLURM_NTASKS,
// and even SLURM_PROCID, but no step. Scripts set WORLD_SIZE for others; only who starts ranks sets what stands beside it.
struct JobLauncher {
  const char *name, *size;
  std::vector<const char*> also;
  const char* command;  // in front of what it starts
};

const std::vector<JobLauncher>& job_launchers() {
  static const std::vector<JobLauncher> kAll = {
      {"torchrun", "WORLD_SIZE", {"RANK", "LOCAL_RANK"}, "torchrun --no-python --nproc-per-node"},
      {"mpirun", "OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_RANK"}, "mpirun -n"},
      {"mpirun", "MV2_COMM_WORLD_SIZE", {"MV2_COMM_WORLD_RANK"}, "mpirun -n"},
      {"srun", "SLURM_STEP_NUM_TASKS", {"SLURM_PROCID", "SLURM_STEP_ID"}, "srun -n"},
      {"mpirun", "PMI_SIZE", {"PMI_RANK"}, "mpirun -n"},
  };
  return kAll;
}

int number(const std::string& text) {
  int value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc{} && end == text.data() + text.size() ? value : 0;
}

}  // namespace

std::string started_for_each_rank(const std::vector<std::string>& environment,
                                  const std::vector<std::string>& command) {
  for (const JobLauncher& launcher : job_launchers()) {
    const int size = number(value_of(environment, launcher.size));
    if (size < 2 || std::any_of(launcher.also.begin(), launcher.also.end(),
                                [&](const char* name) { return value_of(environment, name).empty(); }))
      continue;
    std::string program;
    for (const std::string& word : command) program += " " + shell_quoted(word);
    return fmt::format(
        "{} started this diogenes {} times ({}={}), once for each rank; measure the job as one: diogenes run -- {} {}{}; "
        "or, where ranks need no other one, give each a session of its own with --output",
        launcher.name, size, launcher.size, size, launcher.command, size, program);
  }
  return "";
}

}  // namespace diogenes::launcher
