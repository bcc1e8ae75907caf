// bench-benefit: estimate beside actual benefit, for each example. It measures the example with `diogenes
// run`, takes what the report expects from correcting the planted problems, then runs the example and its
// corrected variant in turns without the tool. Figures as they are: nothing passes or fails here. Everything
// is found relative to this program: DIR/bin/bench-benefit, DIR/bin/diogenes, DIR/bin/examples.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "benefit.h"
#include "run_process.h"

namespace diogenes::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kUsage =
    "Prints, for each example, the benefit that its report expects beside the benefit that its --fixed "
    "variant has.\n\n"
    "usage: bench-benefit [options] [EXAMPLE...]      default: als cfd multigrid gaussian\n"
    "  --driver system|simulated  default: system\n"
    "  --pairs N                  runs of the example and of its corrected variant, in turns; default 7\n"
    "  --iterations N             for the examples; default: their own\n"
    "  --keep DIR                 sessions and reports go there and stay\n"
    "  --json FILE                the figures, for programs\n";

struct Options {
  std::string driver = "system", iterations, keep, json_file;
  int pairs = 7;
  std::vector<std::string> programs;
};

struct Layout {
  fs::path top = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  fs::path diogenes = top / "bin/diogenes";
  fs::path examples = top / "bin/examples";
  fs::path simulated = top / "lib/simulated";
};

[[noreturn]] void bad_usage(const std::string& what) {
  std::fprintf(stderr, "bench-benefit: %s\n%s", what.c_str(), kUsage);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::printf("%s", kUsage);
      std::exit(0);
    }
    if (!name.starts_with("--")) {
      options.programs.push_back(name);
      continue;
    }
    if (++i == argc) bad_usage(name + " needs a value");
    const std::string value = argv[i];
    if (name == "--driver" && (value == "system" || value == "simulated")) {
      options.driver = value;
    } else if (name == "--pairs" && std::atoi(value.c_str()) > 0) {
      options.pairs = std::atoi(value.c_str());
    } else if (name == "--iterations" && std::atoi(value.c_str()) > 0) {
      options.iterations = value;
    } else if (name == "--keep") {
      options.keep = value;
    } else if (name == "--json") {
      options.json_file = value;
    } else {
      bad_usage("cannot use '" + name + " " + value + "'");
    }
  }
  if (options.programs.empty()) options.programs = {"als", "cfd", "multigrid", "gaussian"};
  return options;
}

json read_json(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  return json::parse(in);
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        temporary_(false),
        folder_(options.keep.empty() ? temporary_.path() : fs::path(options.keep)),
        expected_(read_json(layout_.examples / "expected.json")) {
    fs::create_directories(folder_);
  }

  json measure(const std::string& name) {
    const json report = report_on(name);
    const Estimate estimate = estimate_of(findings_of(name), report);
    json row = {{"program", name},
                {"estimate_s", estimate.seconds},
                {"estimate_is", estimate.taken},
                {"planted_problems_found", estimate.problems},
                {"problems", report.value("problems", json::array()).size()},
                {"stages", report.value("stages", json::array())}};
    measure_actual(name, row);
    row["accuracy"] = accuracy(estimate.seconds, row["actual_s"]);
    return row;
  }

 private:
  std::vector<std::string> command(const std::string& name, bool fixed) const {
    std::vector<std::string> result = {layout_.examples / name};
    if (fixed) result.push_back("--fixed");
    if (!options_.iterations.empty()) result.insert(result.end(), {"--iterations", options_.iterations});
    return result;
  }

  // als_runtime_static and als_runtime_shared are built from one source.
  json findings_of(const std::string& name) const {
    std::string key = name;
    for (const char* ending : {"_static", "_shared"})
      if (key.ends_with(ending)) key.resize(key.size() - std::strlen(ending));
    return expected_.at("programs").value(key, json::array());
  }

  json report_on(const std::string& name) const {
    const std::string session = folder_ / (name + ".diogenes"), file = folder_ / (name + ".json");
    std::vector<std::string> run = {
        layout_.diogenes, "run",     "--driver", options_.driver,           "--output",
        session,          "--force", "--report", folder_ / (name + ".txt"), "--"};
    const auto program = command(name, false);
    run.insert(run.end(), program.begin(), program.end());
    must_succeed(run_process(run, {.limit_s = 300}), "diogenes run -- " + name);
    must_succeed(
        run_process({layout_.diogenes, "export", session, "--format", "json", "-o", file, "--force"}),
        "diogenes export of " + name);
    return read_json(file);
  }

  void measure_actual(const std::string& name, json& row) const {
    std::vector<double> originals, differences;
    for (int pair = 0; pair < options_.pairs; ++pair) {
      const bool fixed_first = pair % 2 == 1;  // whatever drifts hits both
      const ProcessRun first = plain_run(name, fixed_first), second = plain_run(name, !fixed_first);
      const double original = (fixed_first ? second : first).seconds;
      const double fixed = (fixed_first ? first : second).seconds;
      originals.push_back(original);
      differences.push_back(original - fixed);
      if (first.output != second.output) throw std::runtime_error(name + ": --fixed prints something else");
    }
    row["runtime_s"] = median(originals);
    row["actual_s"] = median(differences);
    row["actual_error_s"] = median_error(differences);
    row["differences_s"] = differences;
  }

  ProcessRun plain_run(const std::string& name, bool fixed) const {
    ProcessOptions options;
    if (options_.driver == "simulated") options.environment = {"LD_LIBRARY_PATH=" + library_path()};
    ProcessRun run = run_process(command(name, fixed), options);
    must_succeed(run, name + (fixed ? " --fixed" : ""));
    return run;
  }

  std::string library_path() const {
    const char* own = std::getenv("LD_LIBRARY_PATH");
    return layout_.simulated.string() + (own != nullptr && *own != 0 ? std::string(":") + own : "");
  }

  static void must_succeed(const ProcessRun& run, const std::string& what) {
    if (run.exit_status == 0) return;
    throw std::runtime_error(
        what + (run.timed_out ? ": took too long" : ": exit status " + std::to_string(run.exit_status)) +
        "\n" + run.errors);
  }

  Options options_;
  Layout layout_;
  TemporaryFolder temporary_;
  fs::path folder_;
  json expected_;
};

void print_benefits(const json& rows) {
  std::printf("%-22s %9s %18s %27s %9s\n", "program", "run time", "estimate", "actual", "accuracy");
  for (const auto& row : rows) {
    const double runtime = row["runtime_s"], estimate = row["estimate_s"], actual = row["actual_s"];
    std::printf("%-22s %7.3f s %8.3f s (%4.1f%%) %8.3f +- %.3f s (%4.1f%%) %8.0f%%\n",
                row["program"].get<std::string>().c_str(), runtime, estimate, 100 * estimate / runtime,
                actual, row["actual_error_s"].get<double>(), 100 * actual / runtime,
                100 * row["accuracy"].get<double>());
  }
}

void print_stages(const json& rows) {
  std::printf("\noverhead of each stage (its run time by the baseline's)\n");
  for (const auto& row : rows) {
    std::printf("%-22s", row["program"].get<std::string>().c_str());
    for (const auto& stage : row["stages"])
      std::printf("  %s %.2f", stage.value("name", "").c_str(), stage.value("overhead", 0.0));
    std::printf("\n");
  }
}

int run(const Options& options) {
  Bench bench(options);
  json rows = json::array();
  bool failed = false;
  for (const auto& name : options.programs) {
    try {
      rows.push_back(bench.measure(name));
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "bench-benefit: %s\n", problem.what());
      failed = true;
    }
  }
  print_benefits(rows);
  print_stages(rows);
  if (!options.json_file.empty()) {
    const json result = {{"schema", "diogenes-bench-benefit/1"},
                         {"driver", options.driver},
                         {"pairs", options.pairs},
                         {"programs", rows}};
    std::ofstream out(options.json_file);
    out << result.dump(2) << "\n";
    if (!out.flush()) throw std::runtime_error(options.json_file + ": cannot be written");
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace diogenes::bench

int main(int argc, char** argv) {
  const auto options = diogenes::bench::parse(argc, argv);
  try {
    return diogenes::bench::run(options);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "bench-benefit: %s\n", failed.what());
    return 1;
  }
}
