// A session's analysis on a thread of its own, so that the explorer can be left and moved while it runs. First the
// report, then estimates as they are asked for. In: session folder, options. Out: through take_report() and
// take_estimate(), once ready() can be read.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analysis/analyse.h"

namespace diogenes::launcher {

struct AnsweredEstimate {
  std::vector<std::string> problems;
  ReportTogether figure;
  std::string error;  // "": none
};

class BackgroundAnalysis {
 public:
  // `shown`: the report that is shown already; one that differs from it answers no estimates. Null: none yet.
  BackgroundAnalysis(std::filesystem::path session, AnalysisOptions options, const Report* shown);
  // An analysis that runs is not waited for: it is left to the end of the process, which has to come at once.
  ~BackgroundAnalysis();

  void start();  // once; later calls do nothing
  void ask(std::vector<std::string> problems);
  int ready() const;  // file descriptor

  bool running() const;  // the analysis, or an estimate
  std::optional<Result<Report>> take_report();
  std::optional<AnsweredEstimate> take_estimate();

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace diogenes::launcher
