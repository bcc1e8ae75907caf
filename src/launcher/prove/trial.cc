#include "launcher/prove/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "launcher/measuring/plan_file.h"
#include "launcher/measuring/prepare_command.h"
#include "launcher/measuring/target_environment.h"
#include "launcher/process/target_process.h"

namespace diogenes::launcher {

namespace fs = std::filesystem;

namespace {

void add(std::string& sentences, const std::string& sentence) {
  sentences += (sentences.empty() ? "" : "; ") + sentence;
}

}  // namespace

Trial::Trial(fs::path session_folder, Session session, uint64_t pool_limit)
    : folder_(std::move(session_folder)),
      runs_(folder_ / stage_name(Stage::proving)),
      session_(std::move(session)),
      pool_limit_(pool_limit),
      installation_(find_installation()),
      environment_(own_environment()) {}

Status Trial::open() {
  if (Status agent = check_agent(installation_); !agent) return agent;
  std::error_code failed;
  if (!fs::exists(installation_.prove, failed))
    return error("%s is missing; keep bin/ and lib/ of the installation side by side",
                 installation_.prove.c_str());
  fs::current_path(session_.working_folder, failed);
  if (failed)
    return error("the program ran in %s, which is not there any more: %s", session_.working_folder.c_str(),
                 failed.message().c_str());
  program_ = find_program(session_.command.front());
  if (program_.status != 0) return error("%s", program_.problem.c_str());
  Result<ChosenDriver> chosen =
      choose_driver(session_.simulated ? DriverKind::simulated : DriverKind::system, installation_);
  if (!chosen) return error("%s", chosen.error().c_str());
  if (!session_.simulated && fs::exists(session_.driver_path, failed)) chosen->library = session_.driver_path;
  Result<DriverHooks> hooks = prepare_driver(*chosen, installation_, true);
  if (!hooks) return error("%s", hooks.error().c_str());
  if (hooks->build_id_text != session_.driver_build_id)
    return error("the driver %s is not the one of the session (build-id %s, then %s); measure again",
                 chosen->library.c_str(), hooks->build_id_text.c_str(), session_.driver_build_id.c_str());
  driver_.emplace(std::move(*hooks));
  fs::remove_all(runs_, failed);
  fs::create_directory(runs_, failed);
  if (failed) return error("cannot write to %s: %s", runs_.c_str(), failed.message().c_str());
  streams_.emplace(folder_, session_);
  return Done{};
}

Result<TrialRun> Trial::run(const Correction* correction, double limit_s) {
  const Prepared prepared = run_prepare_command(session_.request.prepare, environment_);
  if (!prepared.problem.empty())
    return error("the --prepare command %s; no further runs", prepared.problem.c_str());
  const fs::path folder = runs_ / std::to_string(++made_);
  std::error_code failed;
  fs::create_directory(folder, failed);
  AgentSettings settings{.library_folder = driver_->driver.library_folder};
  if (correction) {
    Status planned = write_plan(folder / "plan", {.stage = Stage::proving,
                                                  .driver = driver_->build_id,
                                                  .hooks = driver_->all,
                                                  .recorded_bytes_limit = 1 << 20,
                                                  .corrected = correction->sites,
                                                  .pool_limit = pool_limit_,
                                                  .leaves_threads = correction->leaves_threads});
    if (!planned) return planned.error();
    settings.agent = installation_.prove;
    settings.plan = folder / "plan";
    settings.guards = true;
  }
  Target target{.program = program_.path,
                .arguments = session_.command,
                .environment = target_environment(environment_, settings),
                .limit = {static_cast<int64_t>(limit_s * 1e9)},
                .ends_with_us = true};
  streams_->route(target, folder);
  Result<TargetResult> result = run_target(target);
  if (!result) return result.error();
  TrialRun run{result->runtime.seconds(), folder, "", result->timed_out, {}};
  streams_->finish(*result);  // what is compared are these runs with each other
  if (result->interrupted_by != 0) return error("interrupted by signal %d", result->interrupted_by);
  if (result->exec_error != 0)
    return error("%s", exec_problem(program_.path, result->exec_error).problem.c_str());
  if (result->timed_out)
    add(run.ended, fmt::format("diogenes ended it after {:.0f} s", run.runtime_s));
  else if (result->exit_status != session_.exit_status)
    add(run.ended,
        fmt::format("it {}, and in the session it {}", ended_text(result->exit_status, result->signal),
                    ended_text(session_.exit_status, 0)));
  if (correction) run.counts = read_counts(folder);
  return run;
}

}  // namespace diogenes::launcher
