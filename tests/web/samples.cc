// web_samples FOLDER [SESSION]: the reports that the tests of the views share, as files of every format, for the tests
// of the page and of exports: FOLDER/NAME.html, .sarif, ... With a session of synthetic_session: its page as
// FOLDER/million.html.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "analysis/analyse.h"
#include "analysis/report/timeline.h"
#include "analysis/testing/trace_builder.h"
#include "views/exports/exports.h"
#include "views/html/html.h"
#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"

namespace {

using namespace diogenes;

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: web_samples FOLDER [SESSION]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const std::pair<const char*, Report> samples[] = {{"nothing", Report{}},
                                                    {"empty", empty_report()},
                                                    {"als", als_report()},
                                                    {"bare", bare_report()},
                                                    {"crowded", crowded_report()},
                                                    {"transfers", transfers_report()},
                                                    {"timed", timed_report()},
                                                    {"contexts", contexts_report()},
                                                    {"vast", vast_profile_report()},
                                                    {"nonsense", nonsense_profile_report()},
                                                    {"no-contexts", no_contexts_report()}};
  const Reader reader{.folder = "/home/me/als", .session = "als.1.diogenes"};
  for (const auto& [name, report] : samples) {
    const std::string stem = name;
    write(folder / (stem + ".html"), to_html(report, reader));
    write(folder / (stem + ".sarif"), to_sarif(report, reader));
    write(folder / (stem + ".csv"), to_csv(report));
    write(folder / (stem + ".md"), to_markdown(report, reader));
    write(folder / (stem + ".perfetto.json"), to_perfetto(report));
    write(folder / (stem + ".collapsed.txt"), to_collapsed(report));
    if (!report.profile) continue;
    write(folder / (stem + ".collapsed-time.txt"), to_collapsed_time(report));
    write(folder / (stem + ".speedscope.json"), to_speedscope(report));
    write(folder / (stem + ".pprof"), to_pprof(report));
  }
  if (argc < 3) return 0;
  auto report = analyse(argv[2], {.judge = testing::verdicts_by_hand, .timeline = kUsualIntervals});
  if (!report.ok()) {
    fprintf(stderr, "%s\n", report.error().c_str());
    return 1;
  }
  write(folder / "million.html", to_html(*report, reader));
}
