#include "trial.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "analysis/proof/proved.h"
#include "benefit.h"

namespace diogenes::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kLimit_s = 300;  // of a run under the tool
constexpr double kErrorOfBenefit = 0.025, kErrorOfRun = 0.0025;

void must_succeed(const ProcessRun& run, const std::string& what) {
  if (run.exit_status == 0) return;
  throw std::runtime_error(
      what + (run.timed_out ? ": took too long" : ": exit status " + std::to_string(run.exit_status)) + "\n" +
      run.errors);
}

// What the program noted of its own run (examples/common/gpu.h); below 0: nothing.
double noted_seconds(const fs::path& file) {
  std::ifstream in(file);
  double seconds = -1;
  return in >> seconds ? seconds : -1;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

bool precise_enough(const Actual& actual) {
  return actual.error_s <=
         std::max(kErrorOfBenefit * std::abs(actual.benefit_s), kErrorOfRun * actual.runtime_s);
}

}  // namespace

Trial::Trial(std::string driver, const std::string& keep)
    : driver_(std::move(driver)),
      temporary_(false),
      folder_(keep.empty() ? temporary_.path() : fs::path(keep)),
      kept_(!keep.empty()) {
  fs::create_directories(folder_);
}

json Trial::report(const std::string& name, const Command& program, const Command& options) const {
  const std::string session = file(name, ".diogenes"), exported = file(name, ".json");
  Command run = {layout_.diogenes, "run",      "--driver",         driver_,          "--output", session,
                 "--force",        "--report", file(name, ".txt"), "--max-overhead", "1000"};
  run.insert(run.end(), options.begin(), options.end());
  run.push_back("--");
  run.insert(run.end(), program.begin(), program.end());
  must_succeed(run_process(run, {.limit_s = kLimit_s}), "diogenes run -- " + name);
  must_succeed(
      run_process({layout_.diogenes, "export", session, "--format", "json", "-o", exported, "--force"}),
      "diogenes export of " + name);
  return json::parse(text_of(exported));
}

ProvedBenefit Trial::proved(const std::string& name, const json& report, int pairs) const {
  const fs::path session = file(name, ".diogenes");
  const ProcessRun run = run_process({layout_.diogenes, "prove", session, "--pairs", std::to_string(pairs)},
                                     {.limit_s = pairs * kLimit_s});
  ProvedBenefit result;
  // Exit status 1: results were not the same, or, without a file, there was nothing to correct.
  const bool made = fs::exists(session / kProvedFile);
  if (run.exit_status != 1 || (!made && run.errors.find("nothing to correct") == std::string::npos))
    must_succeed(run, "diogenes prove of " + name);
  if (!made) {
    result.left_out = {"there is nothing to correct in this report"};
    return result;
  }
  const auto all = proved_from_json(text_of(session / kProvedFile));
  if (!all.ok() || all.value().corrections.empty())
    throw std::runtime_error("diogenes prove of " + name + ": no figures");
  const ProvedCorrection& first = all.value().corrections.front();  // all together, or the only one
  result.same_change = all.value().left_out.empty() && first.keys.size() == report.at("problems").size();
  // Fixed by hand, streams run side by side; here they keep the order in which the waits put them.
  result.same_change = result.same_change && first.ordered == 0;
  result.benefit_s = first.proved_s;
  result.error_s = first.error_s / 2;
  result.hidden_s = first.correcting_s;
  result.too_dear = is_too_dear(first);
  result.calls = first.calls, result.applied = first.applied;
  result.results_equal = first.difference.empty();
  result.left_out = all.value().left_out;
  return result;
}

void Trial::done_with(const std::string& name) const {
  std::error_code ignored;
  if (!kept_) fs::remove_all(file(name, ".diogenes"), ignored);
}

fs::path Trial::file(const std::string& name, const char* extension) const {
  std::string file_name = name;
  std::replace(file_name.begin(), file_name.end(), ' ', '-');
  return folder_ / (file_name + extension);
}

Actual Trial::actual(const std::string& name, const Command& original, const Command& fixed,
                     const Pairs& pairs) const {
  std::vector<double> runtimes, between, noted, process;
  Actual actual;
  plain_run(name, original);
  actual.noted = plain_run(name + " --fixed", fixed).noted_s >= 0;
  for (int pair = 0; pair < std::max(pairs.least, pairs.most); ++pair) {
    if (pair >= pairs.least && precise_enough(actual)) break;
    Timed original_run, fixed_run;
    const bool fixed_first = pair % 2 == 1;  // whatever drifts hits both
    if (fixed_first) fixed_run = plain_run(name + " --fixed", fixed);
    original_run = plain_run(name, original);
    if (!fixed_first) fixed_run = plain_run(name + " --fixed", fixed);
    if (original_run.output != fixed_run.output)
      throw std::runtime_error(name + ": --fixed prints something else");
    runtimes.push_back(original_run.process_s);
    process.push_back(original_run.process_s - fixed_run.process_s);
    between.push_back(original_run.noted_s);
    noted.push_back(original_run.noted_s - fixed_run.noted_s);
    actual.runtime_s = median(runtimes);
    actual.noted_s = actual.noted ? median(between) : 0;
    actual.process_benefit_s = median(process);
    actual.process_error_s = median_error(process);
    actual.differences_s = actual.noted ? noted : process;
    actual.benefit_s = median(actual.differences_s);
    actual.error_s = median_error(actual.differences_s);
  }
  return actual;
}

Trial::Timed Trial::plain_run(const std::string& name, const Command& program) const {
  const fs::path note = temporary_.path() / "noted-seconds";
  std::error_code ignored;
  fs::remove(note, ignored);
  ProcessOptions options;
  options.environment = {"EXAMPLE_TIME_FILE=" + note.string()};
  const char* own = std::getenv("LD_LIBRARY_PATH");
  if (driver_ == "simulated")
    options.environment.push_back("LD_LIBRARY_PATH=" + layout_.simulated.string() +
                                  (own != nullptr && *own != 0 ? std::string(":") + own : ""));
  const ProcessRun run = run_process(program, options);
  must_succeed(run, name);
  return {run.seconds, noted_seconds(note), run.output};
}

}  // namespace diogenes::bench
