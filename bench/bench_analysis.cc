// bench-analysis SESSION: time and peak memory of stage 5, without judging: for sessions of
// synthetic_session.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>

#include "analysis/analyse.h"
#include "analysis/testing/trace_builder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: bench-analysis SESSION\n");
    return 2;
  }
  auto begin = std::chrono::steady_clock::now();
  auto report = diogenes::analyse(argv[1], {.judge = diogenes::testing::verdicts_by_hand});
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!report.ok()) {
    fprintf(stderr, "%s\n", report.error().c_str());
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  printf("%.2f s, %.0f MB, %zu problems, %zu groups\n", seconds, static_cast<double>(usage.ru_maxrss) / 1024,
         report->problems.size(), report->groups.size());
}
