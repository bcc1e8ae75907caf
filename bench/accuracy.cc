// bench-accuracy: do the expected benefits come true? For each program of the bench and for random schedules:
// what a profiler would show, what both models expect of fixing everything, what the fixed variant gains,
// measured without the tool in pairs of runs (trial.h), and what `diogenes prove` proves in the unmodified program.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "benefit.h"
#include "trial.h"

namespace diogenes::bench {
namespace {

using nlohmann::json;

constexpr const char* kUsage =
    "Prints, for each program, the expected benefit of fixing all of its problems beside the actual one.\n\n"
    "usage: bench-accuracy [options] [PROGRAM...]   default: all; PROGRAM: als, or a schedule such as "
    "absorbed\n"
    "  --driver system|simulated  default: system\n"
    "  --pairs N                  of runs, original and fixed, in turns, at least; default 7\n"
    "  --most-pairs N             where the benefit is not known well enough by then; default: no more\n"
    "  --random N                 random schedules besides; default 0\n"
    "  --seed N                   of the first; default 1\n"
    "  --iterations N             rounds of a random schedule; default: its own (40)\n"
    "  --gpu-times auto|off       passed on to `diogenes run`; default auto\n"
    "  --repeat N                 the same: traced runs; default 1\n"
    "  --faster                   what the run gains if its longest kernel takes half as long, beside the same with\n"
    "                             that kernel made half as long (docs/accuracy.md)\n"
    "  --no-prove                 leaves out what diogenes prove measures, which takes as many pairs again\n"
    "  --keep DIR                 sessions and reports go there and stay\n"
    "  --markdown FILE            the tables\n"
    "  --json FILE                the figures, for programs\n";

const std::vector<std::string> kPrograms = {"als",          "cfd",
                                            "multigrid",    "gaussian",
                                            "absorbed",     "together",
                                            "gpu_bound",    "cpu_bound",
                                            "many_streams", "many_threads",
                                            "deep_queue",   "copy_bound",
                                            "misplaced",    "misplaced_launches",
                                            "duplicate",    "temporary",
                                            "idle_waits",   "backward",
                                            "queue",        "pool"};
const std::vector<std::string> kExamples = {"als", "cfd", "multigrid", "gaussian"};

struct Options {
  std::string driver = "system", keep, markdown, json_file, gpu_times = "auto", repeat = "1", iterations;
  Pairs pairs;
  int random = 0;
  long seed = 1;
  bool prove = true, faster = false;
  std::vector<std::string> programs;
};

[[noreturn]] void bad_usage(const std::string& what) {
  std::fprintf(stderr, "bench-accuracy: %s\n%s", what.c_str(), kUsage);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  bool named = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::printf("%s", kUsage);
      std::exit(0);
    }
    if (!name.starts_with("--")) {
      options.programs.push_back(name);
      named = true;
      continue;
    }
    if (name == "--faster") {
      options.faster = true;
      options.prove = false;
      continue;
    }
    if (name == "--no-prove") {
      options.prove = false;
      continue;
    }
    if (++i == argc) bad_usage(name + " needs a value");
    const std::string value = argv[i];
    if (name == "--driver" && (value == "system" || value == "simulated"))
      options.driver = value;
    else if (name == "--gpu-times" && (value == "auto" || value == "off"))
      options.gpu_times = value;
    else if (name == "--pairs" && std::atoi(value.c_str()) > 0)
      options.pairs.least = std::atoi(value.c_str());
    else if (name == "--most-pairs" && std::atoi(value.c_str()) > 0)
      options.pairs.most = std::atoi(value.c_str());
    else if (name == "--random" && std::atoi(value.c_str()) >= 0)
      options.random = std::atoi(value.c_str()), named = true;
    else if (name == "--seed" && std::atol(value.c_str()) > 0)
      options.seed = std::atol(value.c_str());
    else if (name == "--iterations" && std::atoi(value.c_str()) > 0)
      options.iterations = value;
    else if (name == "--repeat" && std::atoi(value.c_str()) > 0)
      options.repeat = value;
    else if (name == "--keep")
      options.keep = value;
    else if (name == "--markdown")
      options.markdown = value;
    else if (name == "--json")
      options.json_file = value;
    else
      bad_usage("cannot use '" + name + " " + value + "'");
  }
  if (!named) options.programs = kPrograms;
  for (int i = 0; i < options.random; ++i)
    options.programs.push_back("random " + std::to_string(options.seed + i));
  return options;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), trial_(options.driver, options.keep) {}

  json measure(const std::string& name) const {
    const json report = trial_.report(name, command(name, false),
                                      {"--gpu-times", options_.gpu_times, "--repeat", options_.repeat});
    json row = {{"program", name}, {"problems", report.at("problems").size()}};
    double profiled = 0;
    for (const auto& problem : report.at("problems")) profiled += problem.value("call_s", 0.0);
    row["profiled_s"] = profiled;
    const json& all = report.at("together");
    const json none = {{"expected_benefit_s", 0.0},
                       {"expected_benefit_range_s", {0.0, 0.0}},
                       {"range_reason", nullptr},
                       {"models", {{"paper", 0.0}, {"replay", 0.0}}}};
    const json& found = all.is_null() ? none : all;
    row["paper_s"] = found.at("models").at("paper");
    row["replay_s"] = found.at("models").at("replay");
    row["range_s"] = found.at("expected_benefit_range_s");
    row["range_reason"] = found.at("range_reason");
    row["functions"] = report.value("functions", json::array());
    for (const auto& notice : report.at("notices"))
      if (notice.at("code") == "model-mismatch") row["mismatch"] = notice.at("text");
    Command changed = command(name, true);
    if (options_.faster) changed = take_faster_kernel(name, report, row);
    const Actual actual = trial_.actual(name, command(name, false), changed, options_.pairs);
    row["runtime_s"] = actual.runtime_s;
    row["noted_s"] = actual.noted_s;
    row["actual_s"] = actual.benefit_s;
    row["actual_error_s"] = actual.error_s;
    row["process_benefit_s"] = actual.process_benefit_s;
    row["process_error_s"] = actual.process_error_s;
    row["differences_s"] = actual.differences_s;
    judge(row);
    if (options_.prove) prove(name, report, actual, row);
    trial_.done_with(name);
    return row;
  }

 private:
  Command command(const std::string& name, bool fixed) const {
    const auto& examples = trial_.layout().examples;
    Command result;
    if (std::find(kExamples.begin(), kExamples.end(), name) != kExamples.end()) {
      result = {examples / name};
    } else if (name.starts_with("random ")) {
      result = {examples / "schedule", "random", name.substr(7)};
      if (!options_.iterations.empty()) result.insert(result.end(), {"--iterations", options_.iterations});
    } else {
      result = {examples / "schedule", name};
    }
    if (fixed) result.push_back("--fixed");
    return result;
  }

  // The figures of the longest kernel in the place of those of the problems. Out: the program with that one half as long.
  Command take_faster_kernel(const std::string& name, const json& report, json& row) const {
    for (const json& work : report.at("profile").at("work")) {
      if (work.at("kind") != "kernel" || work.at("what_if").is_null()) continue;
      const json& half = work.at("what_if").at("half");
      row["kernel"] = work.at("name");
      row["paper_s"] = work.at("gpu_s").get<double>() / 2;  // as if all of it were on the critical path
      row["replay_s"] = half.at("seconds");
      row["range_s"] = half.at("range_s");
      row["range_reason"] = work.at("what_if").at("range_reason");
      Command changed = command(name, false);
      changed.insert(changed.begin(), {"/usr/bin/env", "EXAMPLE_HALF=" + work.at("name").get<std::string>()});
      return changed;
    }
    throw std::runtime_error(name + ": the report has no kernel with a gain");
  }

  void prove(const std::string& name, const json& report, const Actual& actual, json& row) const {
    const ProvedBenefit proved = trial_.proved(name, report, static_cast<int>(actual.differences_s.size()));
    const Agreement found =
        agreement(actual.benefit_s, actual.error_s, proved.benefit_s, proved.error_s, proved.hidden_s);
    constexpr const char* kNames[] = {"yes", "with the cost of correcting", "no"};
    json agrees;  // null: another change
    if (proved.same_change) agrees = proved.too_dear ? "not proved" : kNames[static_cast<int>(found)];
    row["proved"] = {{"benefit_s", proved.benefit_s},
                     {"error_s", proved.error_s},
                     {"hidden_s", proved.hidden_s},
                     {"calls", proved.calls},
                     {"applied", proved.applied},
                     {"results_equal", proved.results_equal},
                     {"left_out", proved.left_out},
                     {"same_change", proved.same_change},
                     {"agrees", agrees}};
  }

  // Right: off by no more than the largest of a part of the actual benefit, 1% of the run and two standard
  // errors.
  void judge(json& row) const {
    const double actual = row["actual_s"], share = options_.driver == "simulated" ? 0.05 : 0.10;
    const auto allowed_of = [&](double run) {
      return std::max({share * std::abs(actual), 0.01 * run, 2 * row["actual_error_s"].get<double>()});
    };
    const double allowed = allowed_of(row["runtime_s"]);
    for (const char* model : {"paper", "replay"}) {
      const double estimate = row[std::string(model) + "_s"];
      row[std::string(model) + "_right"] = std::abs(estimate - actual) <= allowed;
      row[std::string(model) + "_accuracy"] = accuracy(estimate, actual);
    }
    row["in_range"] = row["range_s"][0].get<double>() - allowed <= actual &&
                      actual <= row["range_s"][1].get<double>() + allowed;
    row["allowed_s"] = allowed;
    // The same with 1% of what the program notes itself: the driver's start is left out.
    row["replay_strictly_right"] =
        std::abs(row["replay_s"].get<double>() - actual) <= allowed_of(row["noted_s"]);
  }

  const Options& options_;
  Trial trial_;
};

std::string text(const char* format, double a, double b = 0) {
  char line[64];
  std::snprintf(line, sizeof line, format, a, b);
  return line;
}

std::string ms(double seconds) { return text("%.1f", seconds * 1000); }

bool same_change_tried(const json& row) {
  return row.contains("proved") && !row["proved"]["agrees"].is_null();
}

// What was proved, and does it agree; '-': the same change could not be made, or was not tried.
std::string proved_of(const json& row) {
  if (!same_change_tried(row)) return "- | -";
  const json& proved = row["proved"];
  return ms(proved["benefit_s"]) + " +- " + ms(proved["error_s"]) + " (" + ms(proved["hidden_s"]) + ") | " +
         proved["agrees"].get<std::string>() + (proved["results_equal"] ? "" : ", results DIFFERENT");
}

std::string row_of(const json& row) {
  const double runtime = row["runtime_s"], actual = row["actual_s"];
  const auto one = [&](const char* model) {
    const std::string name = model;
    return ms(row[name + "_s"]) + " | " + text("%.0f%%", 100 * row[name + "_accuracy"].get<double>()) +
           (row[name + "_right"] ? "" : " *");
  };
  std::string reason = row["range_reason"].is_null() ? "" : row["range_reason"].get<std::string>();
  if (row.contains("mismatch")) reason += (reason.empty() ? "" : "; ") + row["mismatch"].get<std::string>();
  return "| " + row["program"].get<std::string>() + " | " + ms(runtime) + " | " + ms(row["profiled_s"]) +
         " | " + one("paper") + " | " + one("replay") + " | " + ms(row["range_s"][0]) + " to " +
         ms(row["range_s"][1]) + (row["in_range"] ? "" : " *") + " | " + ms(actual) + " +- " +
         ms(row["actual_error_s"]) + " | " + text("%.1f%%", 100 * actual / runtime) + " | " + proved_of(row) +
         " | " + reason + " |\n";
}

// SC'19, Table 2: per function, what a profiler shows and what can be gained, with the ranks of both.
std::string table_2(const json& row) {
  std::vector<json> functions = row["functions"];
  const auto rank = [&](const json& of, const char* key) {
    return 1 + std::count_if(functions.begin(), functions.end(),
                             [&](const json& other) { return other.value(key, 0.0) > of.value(key, 0.0); });
  };
  std::string table;
  const double runtime = row["runtime_s"];
  for (const json& function : functions) {
    if (rank(function, "call_s") > 6) continue;
    const double gain = function.value("expected_benefit_s", 0.0), call = function.value("call_s", 0.0);
    table += "| " + row["program"].get<std::string>() + " | " + function.value("operation", "") + " | " +
             ms(call) + " (" + text("%.1f%%", 100 * call / runtime) + ") | " +
             std::to_string(rank(function, "call_s")) + " | " +
             (gain > 0 ? ms(gain) + " (" + text("%.1f%%", 100 * gain / runtime) + ") | " +
                             std::to_string(rank(function, "expected_benefit_s"))
                       : std::string("- | -")) +
             " |\n";
  }
  return table;
}

constexpr const char* kHead =
    "Milliseconds. profiled: time in the calls of the problems; *: outside the tolerance. actual: by hand. proved: by "
    "diogenes prove (and what correcting took); -: it cannot make the same change. agrees: within 5% of the "
    "actual benefit, or two standard errors; not proved: nothing was gained, and correcting took as long as there was to "
    "gain.\n\n"
    "| program | run time | profiled | paper | accuracy | replay | accuracy | range | actual | of the run "
    "| proved | agrees | wide, or wrong, because |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

bool is_random(const json& row) { return row["program"].get<std::string>().starts_with("random "); }

// What stands below the rows: the random schedules, which have none, and the functions of the examples.
std::string totals(const json& rows) {
  std::string out;
  const auto random = std::count_if(rows.begin(), rows.end(), is_random);
  if (random > 0) {
    int paper = 0, replay = 0, in_range = 0, worth = 0, comparable = 0, agree = 0;
    double paper_sum = 0, replay_sum = 0;
    for (const json& row : rows) {
      if (!is_random(row)) continue;
      paper += row["paper_right"].get<bool>();
      replay += row["replay_right"].get<bool>();
      in_range += row["in_range"].get<bool>();
      if (same_change_tried(row) && row["proved"]["agrees"] != "not proved") {
        ++comparable;
        agree += row["proved"]["agrees"] != "no";
      }
      if (row["actual_s"].get<double>() < 0.01 * row["runtime_s"].get<double>()) continue;
      ++worth;
      paper_sum += row["paper_accuracy"].get<double>();
      replay_sum += row["replay_accuracy"].get<double>();
    }
    out +=
        "\n| random schedules | right: paper | right: replay | in the range | mean accuracy: paper | replay "
        "| proved agrees |\n"
        "|---|---|---|---|---|---|---|\n| " +
        std::to_string(random) + ", " + std::to_string(worth) + " with 1% or more | " +
        std::to_string(paper) + " | " + std::to_string(replay) + " | " + std::to_string(in_range) + " | " +
        text("%.3f", worth ? paper_sum / worth : 0) + " | " + text("%.3f", worth ? replay_sum / worth : 0) +
        " | " + std::to_string(agree) + " of " + std::to_string(comparable) + " |\n";
  }
  std::string functions;
  for (const json& row : rows)
    if (std::find(kExamples.begin(), kExamples.end(), row["program"].get<std::string>()) != kExamples.end())
      functions += table_2(row);
  if (!functions.empty())
    out +=
        "\n| program | function | time in the call | rank | expected benefit | rank "
        "|\n|---|---|---|---|---|---|\n" +
        functions;
  return out;
}

// What was measured until now: a run takes minutes, and may be ended before it is through.
void write_files(const Options& options, const json& rows) {
  if (!options.markdown.empty()) {
    std::ofstream out(options.markdown);
    out << kHead;
    for (const json& row : rows)
      if (!is_random(row)) out << row_of(row);
    out << totals(rows);
  }
  if (!options.json_file.empty())
    std::ofstream(options.json_file) << json{{"schema", "diogenes-bench-accuracy/1"},
                                             {"driver", options.driver},
                                             {"pairs", options.pairs.least},
                                             {"most_pairs", options.pairs.most},
                                             {"programs", rows}}
                                            .dump(2)
                                     << "\n";
}

void print(const std::string& text) {
  std::printf("%s", text.c_str());
  std::fflush(stdout);
}

int run(const Options& options) {
  Bench bench(options);
  json rows = json::array();
  bool failed = false;
  print(kHead);
  for (const auto& name : options.programs) {
    try {
      rows.push_back(bench.measure(name));
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "bench-accuracy: %s\n", problem.what());
      failed = true;
      continue;
    }
    if (!is_random(rows.back()))
      print(row_of(rows.back()));
    else if (isatty(STDERR_FILENO))
      std::fprintf(stderr, "%s", row_of(rows.back()).c_str());
    write_files(options, rows);
  }
  print(totals(rows));
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace diogenes::bench

int main(int argc, char** argv) {
  const auto options = diogenes::bench::parse(argc, argv);
  try {
    return diogenes::bench::run(options);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "bench-accuracy: %s\n", failed.what());
    return 1;
  }
}
