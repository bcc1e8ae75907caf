// bench-overhead: what the agent adds to a call of the driver, beside a tracer that keeps CUPTI's activity
// records of the same calls and no stacks. Each row is one call at one depth of the stack; 'adds' is what it
// takes longer than alone. 'Between': the program waits for a window that nobody opens (`profile --wait`).
//
//   bench-overhead [--driver system|simulated] [--cupti LIBRARY] [--calls N] [--rounds N] [-- OPTION...]
//
// LIBRARY: libcupti.so.13, for the column of CUPTI; without it the column is left out. OPTION...: for `diogenes
// run`; `--gpu-times off` leaves out what CUPTI takes in memory tracing. Medians of the rounds; each round runs
// every variant once.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "run_process.h"

using namespace diogenes::bench;

namespace {

using Key = std::pair<std::string, int>;           // call, frames
using Times = std::map<Key, std::vector<double>>;  // nanoseconds, one a round

bool add(Times& times, std::vector<Key>& order, const std::string& output) {
  std::istringstream in(output);
  std::string name;
  int frames;
  double ns;
  bool any = false;
  while (in >> name >> frames >> ns) {
    auto& all = times[{name, frames}];
    if (all.empty() && std::find(order.begin(), order.end(), Key{name, frames}) == order.end())
      order.push_back({name, frames});
    all.push_back(ns);
    any = true;
  }
  return any;
}

double median(std::vector<double> all) {
  if (all.empty()) return -1;
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string driver = "simulated", cupti, calls = "100000";
  int rounds = 3;
  std::vector<std::string> run_options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--") {
      run_options.assign(argv + i + 1, argv + argc);
      break;
    }
    if (option == "--driver")
      driver = argv[i + 1];
    else if (option == "--cupti")
      cupti = argv[i + 1];
    else if (option == "--calls")
      calls = argv[i + 1];
    else if (option == "--rounds")
      rounds = std::max(1, atoi(argv[i + 1]));
    else
      return fprintf(stderr, "bench-overhead: unknown option %s\n", argv[i]), 2;
  }
  const auto top = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path().string();
  const std::vector<std::string> program = {top + "/bin/examples/calls", "--calls", calls};
  const std::vector<std::string> plain =
      driver == "simulated" ? std::vector<std::string>{"LD_LIBRARY_PATH=" + top + "/lib/simulated"}
                            : std::vector<std::string>{};
  std::vector<Key> order;
  Times alone, between, tracing, memory_tracing, by_cupti;
  const TemporaryFolder folder;
  for (int round = 0; round < rounds; ++round) {
    fprintf(stderr, "round %d of %d\n", round + 1, rounds);
    const auto once = run_process(program, {.environment = plain});
    if (!add(alone, order, once.output)) return fprintf(stderr, "calls: %s\n", once.errors.c_str()), 1;
    if (!cupti.empty()) {
      auto environment = plain;
      environment.push_back("LD_PRELOAD=" + top + "/lib/libdiogenes-bench-cupti.so");
      environment.push_back("DIOGENES_CUPTI=" + cupti);
      const auto traced = run_process(program, {.environment = environment});
      if (!add(by_cupti, order, traced.output))
        return fprintf(stderr, "calls: %s\n", traced.errors.c_str()), 1;
      if (round == 0) fprintf(stderr, "%s", traced.errors.c_str());
    }
    const std::string session = folder.path() / ("session" + std::to_string(round));
    std::vector<std::string> wait = {
        top + "/bin/diogenes", "profile", "--wait", "--driver", driver, "--output",
        session + "-between",  "--"};
    wait.insert(wait.end(), program.begin(), program.end());
    const auto waited = run_process(wait, {.limit_s = 600});
    if (!add(between, order, waited.output))
      return fprintf(stderr, "diogenes: %s\n", waited.errors.c_str()), 1;
    std::vector<std::string> run = {
        top + "/bin/diogenes", "run", "--driver", driver, "--output", session, "--report", session + ".txt"};
    run.insert(run.end(), run_options.begin(), run_options.end());
    run.emplace_back("--");
    run.insert(run.end(), program.begin(), program.end());
    const auto measured = run_process(run, {.limit_s = 600});
    if (!add(tracing, order, contents(session + "/tracing/stdout")) ||
        !add(memory_tracing, order, contents(session + "/memory-tracing/stdout")))
      return fprintf(stderr, "diogenes: %s\n", measured.errors.c_str()), 1;
  }
  printf("%-19s %6s %9s %9s %9s %9s %9s   ns a call; medians of %d\n", "call", "frames", "alone", "between",
         "tracing", "memory", "CUPTI", rounds);
  printf("%-19s %6s %9s %9s %9s %9s %9s\n", "", "", "", "adds", "adds", "adds", "adds");
  for (const Key& key : order) {
    const double base = median(alone[key]);
    printf("%-19s %6d %9.0f %9.0f %9.0f %9.0f", key.first.c_str(), key.second, base,
           median(between[key]) - base, median(tracing[key]) - base, median(memory_tracing[key]) - base);
    if (cupti.empty())
      printf(" %9s\n", "-");
    else
      printf(" %9.0f\n", median(by_cupti[key]) - base);
  }
  return 0;
}
