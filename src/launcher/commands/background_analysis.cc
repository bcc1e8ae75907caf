#include "launcher/commands/background_analysis.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/proof/proved_report.h"
#include "analysis/report/kept_report.h"

namespace diogenes::launcher {
namespace {

bool same_problems(const Report& a, const Report& b) {
  return std::equal(
      a.problems.begin(), a.problems.end(), b.problems.begin(), b.problems.end(),
      [](const ReportProblem& x, const ReportProblem& y) { return x.id == y.id && x.key == y.key; });
}

}  // namespace

struct BackgroundAnalysis::Shared {
  std::filesystem::path session;
  AnalysisOptions options;
  std::optional<Report> shown;
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

  std::mutex mutex;  // what follows
  std::condition_variable changed;
  std::optional<Report> report;
  std::optional<Error> failed;
  std::optional<std::vector<std::string>> asked;
  std::optional<AnsweredEstimate> answered;
  bool running = false, end = false;

  ~Shared() { close(event); }
  void wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t written = write(event, &one, sizeof one);
  }
};

BackgroundAnalysis::BackgroundAnalysis(std::filesystem::path session, AnalysisOptions options,
                                       const Report* shown)
    : shared_(std::make_shared<Shared>()) {
  shared_->session = std::move(session);
  shared_->options = std::move(options);
  if (shown) shared_->shown = *shown;
}

BackgroundAnalysis::~BackgroundAnalysis() {
  if (!thread_.joinable()) return;
  bool running = false;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->end = true;
    running = shared_->running;
  }
  shared_->changed.notify_all();
  running ? thread_.detach() : thread_.join();
}

void BackgroundAnalysis::start() {
  if (thread_.joinable()) return;
  shared_->running = true;
  thread_ = std::thread([shared = shared_] { work(shared); });
}

void BackgroundAnalysis::ask(std::vector<std::string> problems) {
  start();
  {
    std::lock_guard lock(shared_->mutex);
    shared_->asked = std::move(problems);
  }
  shared_->changed.notify_all();
}

int BackgroundAnalysis::ready() const { return shared_->event; }

bool BackgroundAnalysis::running() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->running;
}

std::optional<Result<Report>> BackgroundAnalysis::take_report() {
  std::lock_guard lock(shared_->mutex);
  if (shared_->failed) return Result<Report>(*shared_->failed);
  if (!shared_->report) return std::nullopt;
  Result<Report> report(std::move(*shared_->report));
  shared_->report.reset();
  return report;
}

std::optional<AnsweredEstimate> BackgroundAnalysis::take_estimate() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t taken = read(shared_->event, &count, sizeof count);
  std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answered, std::nullopt);
}

void BackgroundAnalysis::work(const std::shared_ptr<Shared>& shared) {
  Result<Estimator> estimator = Estimator::make(shared->session, shared->options);
  std::string refusal;
  std::optional<Report> report;
  if (estimator) report = proved_report(shared->session, shared->options, *estimator);
  if (!estimator) {
    refusal = estimator.error().c_str();
  } else if (shared->shown && !same_problems(*shared->shown, estimator->report())) {
    refusal = "the session changed since its report was made; open it again";
  } else if (Status kept = keep_report(shared->session, shared->options, report_bytes(estimator->report()));
             !kept) {
    // The next time it is analysed again.
  }
  std::unique_lock lock(shared->mutex);
  if (estimator)
    shared->report = std::move(report);
  else
    shared->failed = estimator.error();
  for (;;) {
    shared->running = false;
    shared->wake();
    shared->changed.wait(lock, [&] { return shared->end || shared->asked; });
    if (shared->end) return;
    AnsweredEstimate answer{std::move(*shared->asked), {}, refusal};
    shared->asked.reset();
    shared->running = true;
    lock.unlock();
    if (refusal.empty()) {
      Result<ReportTogether> figure = estimator->together(answer.problems);
      if (figure)
        answer.figure = *figure;
      else
        answer.error = figure.error().c_str();
    }
    lock.lock();
    shared->answered = std::move(answer);
  }
}

}  // namespace diogenes::launcher
