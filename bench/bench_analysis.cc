// bench-analysis SESSION [--judge on]: time, processor time and peak memory of stage 5, for sessions of
// synthetic_session. Without judging, verdicts are those that the session gives by hand; judging is for sessions
// with facts.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "analysis/analyse.h"
#include "analysis/testing/trace_builder.h"

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  const bool judges = argc == 4 && !strcmp(argv[2], "--judge") && !strcmp(argv[3], "on");
  if (argc != 2 && !judges) {
    fprintf(stderr, "usage: bench-analysis SESSION [--judge on]\n");
    return 2;
  }
  auto begin = std::chrono::steady_clock::now();
  const diogenes::JudgeProcess judge = judges ? nullptr : diogenes::testing::verdicts_by_hand;
  auto report = diogenes::analyse(argv[1], {.judge = judge});
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!report.ok()) {
    fprintf(stderr, "%s\n", report.error().c_str());
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  printf("%.2f s, processor %.2f s, %.0f MB, %zu problems, %zu groups\n", seconds,
         seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024,
         report->problems.size(), report->groups.size());
}
