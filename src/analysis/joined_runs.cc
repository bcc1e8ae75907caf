#include "analysis/joined_runs.h"

#include <algorithm>
#include <utility>

#include "analysis/findings/required.h"
#include "analysis/kernel_samples/sampled_time.h"
#include "analysis/necessity/judge_process.h"
#include "analysis/report/notices.h"
#include "analysis/runs/first_uses.h"
#include "base/in_background.h"

namespace diogenes {

namespace fs = std::filesystem;

namespace {

void drop_operations(Run& run) {
  for (Process& process : run.processes)
    for (Thread& thread : process.threads) {
      // Assigning {} would keep the memory.
      std::vector<Operation>().swap(thread.operations);
      std::vector<Evidence>().swap(thread.evidence);
      std::vector<FirstUsePlace>().swap(thread.first_uses);
      std::vector<RecordedGpuTime>().swap(thread.gpu_times);
      std::vector<GpuPiece>().swap(thread.gpu_pieces);
    }
}

}  // namespace

const StageRun* run_of(const Session& session, const std::string& name) {
  for (const StageRun& run : session.runs)
    if (run.name == name) return &run;
  return nullptr;
}

std::string JoinedRuns::name_of(Stage stage) const {
  return stage == Stage::tracing ? choices_.tracing_run : stage_name(stage);
}

std::optional<Run> JoinedRuns::load_stage(Stage stage, Load what) {
  auto run = load_unnoted(stage, what);
  if (run) note(*run, stage);
  return run;
}

fs::path JoinedRuns::stage_folder(const std::string& name) const {
  const StageRun* state = run_of(session_, name);
  return folder_ / (state && !state->folder.empty() ? state->folder : name);
}

std::optional<Run> JoinedRuns::load_unnoted(Stage stage, Load what, const std::optional<Window>& only) {
  const fs::path folder = stage_folder(name_of(stage));
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return std::nullopt;
  // Of stage 4 only the first uses count, and what values become.
  JudgeOptions options{
      .by_hand = choices_.judge, .check = choices_.check, .conditions = stage == Stage::memory_tracing};
  if (stage == Stage::memory_tracing) options.meanwhile = [this](const Run& of) { build(&of); };
  auto run =
      what == Load::evidence ? load_judged_run(folder, sites, options) : load_run(folder, sites, what, only);
  if (!run) {
    notices.push_back({"session", run.error().c_str()});
    return std::nullopt;
  }
  return std::move(*run);
}

void JoinedRuns::note(const Run& run, Stage stage) {
  const std::string name = name_of(stage);
  stage_notices(run, name, notices);
  for (std::string& sentence : lost_operations(run, name)) lost.push_back(std::move(sentence));
  if (stage == Stage::tracing || session_.request.profile) python_notice(run, notices);
  if (stage == Stage::memory_tracing) not_searched_notice(run, notices);
}

// One stage after the other: what stages 3 and 4 say of the operations goes to those of stage 2, and their
// own are let go.
void JoinedRuns::load(const std::function<std::string(const Site&)>& called) {
  tracing = load_stage(Stage::tracing, Load::operations);
  if (tracing) load_gpu_times();
  if (!tracing && session_.request.profile) load_profile();
  if (!tracing) baseline = load_stage(Stage::baseline, Load::operations);
  memory_tracing = load_stage(Stage::memory_tracing, Load::evidence);
  if (!replay && !session_.request.profile) build(nullptr);
  verdicts.assign(sites.size(), {});
  if (memory_tracing) {
    if (gpu_times_) gpu_times_notices(*memory_tracing, *gpu_times_, notices);
    if (tracing) join_memory_tracing(called);
    drop_operations(*memory_tracing);
  }
  sync_use = load_stage(Stage::sync_use, Load::evidence);
  verdicts.resize(sites.size());
  if (!sync_use) return;
  followed = followed_values(*sync_use, sites);
  if (tracing) first_use_join_notice(join_first_uses(*tracing, *sync_use, sites, first_uses), notices);
  drop_operations(*sync_use);
}

// A run of its own for them comes before stage 3's, which disturbs the program more.
void JoinedRuns::load_gpu_times() {
  gpu_run = load_stage(Stage::gpu_times, Load::gpu_times);
  has_gpu_run = gpu_run.has_value();
  if (!gpu_run) return;
  take_gpu_samples(*gpu_run);
  take_gpu_times(*gpu_run);
  gpu_times_notices(*gpu_run, *gpu_times_, notices);
  gpu_times_.reset();
  drop_operations(*gpu_run);
}

std::optional<Window> JoinedRuns::choose_window() {
  const std::vector<Window> all = read_windows(stage_folder(name_of(Stage::gpu_times)));
  if (all.empty()) return std::nullopt;
  const size_t number = choices_.window == 0 ? all.size() : std::min<size_t>(choices_.window, all.size());
  const Window& chosen = all[number - 1];
  window = {static_cast<uint32_t>(number), static_cast<uint32_t>(all.size()), 0,
            Nanoseconds{chosen.end_ns - chosen.begin_ns}.seconds(), slowdown(chosen)};
  return chosen;
}

// One run is both. Its names and its schedule need no more than the operations.
void JoinedRuns::load_profile() {
  const std::optional<Window> only = choose_window();
  tracing = load_unnoted(Stage::gpu_times, Load::operations, only);
  if (!tracing) return;
  if (window) {
    int64_t started = only->begin_ns;
    for (const ProcessTrace& trace : tracing->trace.processes) started = std::min(started, trace.born_ns);
    window->after_s = Nanoseconds{only->begin_ns - started}.seconds();
  }
  take_gpu_samples(*tracing);
  if (auto samples = CpuSamples::open(tracing->trace.folder / kCpuSamplesFile))
    cpu_samples = std::move(*samples);
}

void JoinedRuns::take_gpu_samples(Run& run) {
  for (ProcessTrace& trace : run.trace.processes) {
    if (trace.gpu_samples.instructions.empty() && trace.gpu_samples.why_none.empty()) continue;
    const auto process = std::find_if(run.processes.begin(), run.processes.end(),
                                      [&](const Process& one) { return one.trace == &trace; });
    gpu_samples.push_back(
        {std::move(trace.gpu_samples), {}, static_cast<uint32_t>(process - run.processes.begin())});
  }
}

void JoinedRuns::make_schedules() {
  if (schedules.empty())
    schedules = replay::schedules_of(*tracing, sites, replay::SleepCosts(session_.sleep_costs));
}

void JoinedRuns::take_gpu_times_of_profile() {
  auto times = in_background([&] { ::diogenes::load_gpu_times(*tracing); });
  make_schedules();
  times.get();
  leave_out_late_ends(*tracing, sites);
  note(*tracing, Stage::gpu_times);
  take_gpu_times(*tracing);
  gpu_times_notices(*tracing, *gpu_times_, notices);
  gpu_times_.reset();
}

void JoinedRuns::take_gpu_times(const Run& run) {
  auto found =
      in_background([&] { return find_gpu_work(run, sites); });  // writes nothing that the next reads
  if (&run == &*tracing) make_schedules();
  gpu_times_ = join_gpu_times(*tracing, run, sites, kAssumedMachine,
                              &run == &*tracing ? schedules : replay::Schedules{});
  calibrated = gpu_times_->known > 0;
  machine_ = gpu_times_->machine;
  if (!gpu_samples.empty())
    sampled_time = find_sampled_time(run, gpu_samples, GpuClocks::read(run.trace.folder));
  gpu_work = found.get();
  join_gpu_work(*tracing, run, sites, *gpu_work);
}

// The graph and the model of the run: no verdict matters for them, so they are made while stage 3 is judged.
void JoinedRuns::build(const Run* memory_tracing_run) {
  if (!tracing) return;
  if (memory_tracing_run && !has_gpu_run && tells_gpu_times(*memory_tracing_run))
    take_gpu_times(*memory_tracing_run);
  make_schedules();
  graph = build_graph(*tracing, sites);
  replay.emplace(*tracing, sites, graph,
                 ReplayOptions{.machine = machine_,
                               .calibrated = calibrated,
                               .sleep_costs = session_.sleep_costs,
                               .schedules = schedules});
}

void JoinedRuns::join_memory_tracing(const std::function<std::string(const Site&)>& called) {
  JoinResult joined = join_verdicts(*tracing, *memory_tracing, sites, verdicts);
  join_notices(joined, "memory-tracing", notices);
  auto all = static_cast<double>(joined.matched + joined.unmatched);
  if (all > 0) unmatched = static_cast<double>(joined.unmatched) / all;
  unwatched_notices(*memory_tracing, notices);
  left_out_notice(
      *memory_tracing, session_.request.max_overhead, [&](SiteIndex index) { return called(sites[index]); },
      notices);
  call_contexts = call_contexts_of(*memory_tracing, sites);
  brought = brought_values(*memory_tracing, sites);
}

bool JoinedRuns::verdicts_hold() {
  bool hold = true;
  for (std::optional<Run>* run : {&memory_tracing, &sync_use})
    if (*run && (*run)->verdicts_hold.valid()) hold = (*run)->verdicts_hold.get() && hold;
  return hold;
}

}  // namespace diogenes
