// bench-order: what stage 3 adds to a lock that is free, on the simulated driver.
#include <cstdio>
#include <fstream>
#include <string>

#include "run_process.h"

using namespace diogenes::bench;

int main() {
  const std::string top = DIOGENES_TOP, program = top + "/bin/examples/locks";
  const TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  const auto alone = run_process({program}, {.environment = {"LD_LIBRARY_PATH=" + top + "/lib/simulated"}});
  const auto measured = run_process({top + "/bin/diogenes", "run", "--driver", "simulated", "--output",
                                     session, "--report", folder.path() / "report", "--", program},
                                    {});
  double figures[3][4] = {};
  auto read = [](const std::string& text, double* to) {
    return sscanf(text.c_str(), "%lf %lf %lf %lf", to, to + 1, to + 2, to + 3) == 4;
  };
  auto stage = [&](const char* name) {
    std::string text;
    std::ifstream in(session + "/" + name + "/stdout");
    std::getline(in, text);
    return text;
  };
  if (!read(alone.output, figures[0]) || !read(stage("tracing"), figures[1]) ||
      !read(stage("memory-tracing"), figures[2])) {
    fprintf(stderr, "a run failed: %s%s\n", alone.errors.c_str(), measured.errors.c_str());
    return 1;
  }
  const char* rows[] = {"before the driver is used", "no news since", "news: behind a call of the driver",
                        "two threads at one mutex, no news"};
  printf("%-36s %8s %8s %8s  ns for lock and unlock\n", "", "alone", "stage 2", "stage 3");
  for (int i = 0; i < 4; ++i)
    printf("%-36s %8.1f %8.1f %8.1f\n", rows[i], figures[0][i], figures[1][i], figures[2][i]);
  return 0;
}
