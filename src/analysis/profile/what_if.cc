#include "analysis/profile/what_if.h"

#include <algorithm>
#include <cmath>

#include "base/in_background.h"

namespace diogenes {
namespace {

constexpr size_t kMostItems = 20, kFewestItems = 3, kMostAskedPaths = 20, kMostThreads = 16;
constexpr size_t kMostNodes = 5'000'000;  // that all of it goes through: half a second
// Of all GPU time: what is shorter gains little, whatever becomes of it.
constexpr double kLeastItem = 0.001, kLeastPath = 0.05;

struct Asked {
  uint32_t item = 0;
  std::optional<SiteIndex> path;
  std::optional<double> part;  // of its time
  ReportWhatIf found;
};

double share_of(const std::vector<GpuShare>& mix, uint32_t item) {
  for (const GpuShare& share : mix)
    if (share.item == item) return share.alone;
  return 0;
}

ReportGain gain_of(const Estimate& estimate) {
  return {estimate.benefit.seconds(), estimate.low.seconds(), estimate.high.seconds()};
}

// Half the time, or none; as the program is, or with the findings fixed.
struct Question {
  Asked* of = nullptr;
  double less = 0;  // of the work's time
  const Replay::Made* made = nullptr;
  Estimate answer;
};

void answer(Question& question, const Run& tracing, const GpuWorkFound& work, const Replay& replay) {
  const Asked& asked = *question.of;
  const Replay::Shorter shorter =
      replay.shorter_by([&](uint32_t p, uint32_t t, uint32_t number) -> Nanoseconds {
        const Thread& thread = tracing.processes[p].threads[t];
        const Operation& operation = thread.operations[number];
        const uint32_t mix = number < thread.gpu_mix.size() ? thread.gpu_mix[number] : GpuWorkFound::kNoMix;
        if (mix >= work.mixes.size() || (asked.path && operation.site != *asked.path)) return {};
        const double time = question.less * asked.part.value_or(1) * share_of(work.mixes[mix], asked.item);
        return {std::llround(time * static_cast<double>(std::max<int64_t>(operation.gpu.count, 0)))};
      });
  question.answer = replay.estimate_shorter(shorter, question.made);
}

void take(const Question& question) {
  ReportWhatIf& found = question.of->found;
  const bool half = question.less < 1;
  if (question.made)
    (half ? found.half_fixed : found.none_fixed) = gain_of(question.answer);
  else
    (half ? found.half : found.none) = gain_of(question.answer);
  if (half && !question.made) found.reason = question.answer.reason;
}

}  // namespace

WhatIfs find_what_ifs(const Run& tracing, const GpuWorkFound& work, const Replay& replay,
                      const Replay::Made* fixed, const std::vector<PartOfWork>& parts) {
  WhatIfs out;
  const size_t each = (replay.nodes() + 1) * (fixed ? 4 : 2);
  const size_t affordable = kMostNodes / each;
  const auto share = [&](Nanoseconds time) {
    return work.time.count > 0 ? static_cast<double>(time.count) / static_cast<double>(work.time.count) : 0;
  };
  std::vector<Asked> asked;
  const size_t most = std::clamp(affordable, kFewestItems, kMostItems);
  for (uint32_t i = 0; i < work.items.size() && asked.size() < most; ++i)
    if (asked.size() < kFewestItems || share(work.items[i].time) >= kLeastItem)
      asked.push_back({i, std::nullopt, std::nullopt, {}});
  const size_t items = asked.size();
  for (uint32_t i = 0; i < items; ++i) {
    const auto& paths = work.items[i].paths;
    for (const GpuWorkPath& path : paths)
      if (paths.size() > 1 && share(path.time) >= kLeastPath &&
          asked.size() < std::min(affordable, items + kMostAskedPaths))
        asked.push_back({i, path.site, std::nullopt, {}});
  }
  const size_t whole = asked.size();
  for (const PartOfWork& part : parts)
    if (asked.size() < std::max(affordable, whole + kFewestItems))
      asked.push_back({part.item, std::nullopt, part.share, {}});
  std::vector<const Replay::Made*> as_it_is_and_fixed = {nullptr};
  if (fixed) as_it_is_and_fixed.push_back(fixed);
  std::vector<Question> questions;
  for (Asked& one : asked)
    for (const Replay::Made* made : as_it_is_and_fixed)
      for (const double less : {0.5, 1.0})
        if (!made || !one.part) questions.push_back({&one, less, made, {}});
  const size_t threads =
      affordable < kFewestItems ? kMostThreads / 2 : kMostThreads;  // each has a run's memory
  each_on_threads(threads, questions.size(), [&](size_t i) { answer(questions[i], tracing, work, replay); });
  for (const Question& question : questions) take(question);
  for (Asked& one : asked) {
    if (one.part)
      out.parts.emplace_back(std::move(one.found));
    else if (one.path)
      out.paths[{one.item, one.path->value}] = std::move(one.found);
    else
      out.items[one.item] = std::move(one.found);
  }
  out.parts.resize(parts.size());
  return out;
}

}  // namespace diogenes
