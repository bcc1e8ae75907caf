// bench-benefit: estimate beside actual benefit, for each example. It measures the example with `diogenes
// run`, takes what the report expects from correcting the planted problems, then runs the example and its
// corrected variant in turns without the tool. Figures as they are: nothing passes or fails here (trial.h).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "benefit.h"
#include "trial.h"

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
        trial_(options.driver, options.keep),
        expected_(read_json(trial_.layout().examples / "expected.json")) {}

  json measure(const std::string& name) {
    const json report = trial_.report(name, command(name, false));
    trial_.done_with(name);
    const Estimate estimate = estimate_of(findings_of(name), report);
    json row = {{"program", name},
                {"estimate_s", estimate.seconds},
                {"estimate_is", estimate.taken},
                {"planted_problems_found", estimate.problems},
                {"problems", report.value("problems", json::array()).size()},
                {"stages", report.value("stages", json::array())}};
    const Actual actual =
        trial_.actual(name, command(name, false), command(name, true), {options_.pairs, options_.pairs});
    row["runtime_s"] = actual.runtime_s;
    row["actual_s"] = actual.benefit_s;
    row["actual_error_s"] = actual.error_s;
    row["differences_s"] = actual.differences_s;
    row["accuracy"] = accuracy(estimate.seconds, row["actual_s"]);
    return row;
  }

 private:
  std::vector<std::string> command(const std::string& name, bool fixed) const {
    std::vector<std::string> result = {trial_.layout().examples / name};
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

  Options options_;
  Trial trial_;
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
