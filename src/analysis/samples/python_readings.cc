#include "analysis/samples/python_readings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trace/module_identity.h"
#include "trace/python_samples.h"

namespace diogenes {
namespace {

constexpr int64_t kFarthest = 6'000'000;  // ns, from a sample to a reading

using Operations = std::vector<Operation>;

// Where the stretch ends that `at` is in, between two calls: the position of the next one; none: it is in a call.
std::optional<size_t> stretch_of(const Operations& operations, int64_t at) {
  const auto next = std::partition_point(operations.begin(), operations.end(),
                                         [at](const Operation& one) { return one.begin.count <= at; });
  if (next != operations.begin() && std::prev(next)->end().count > at) return std::nullopt;
  return static_cast<size_t>(next - operations.begin());
}

// The interpreter, and what it was called from: Python's frames stand in their place.
void cut_at_interpreter(const ProcessTrace& process, std::vector<Frame>& frames) {
  const auto first = std::find_if(frames.begin(), frames.end(), [&](Frame frame) {
    const ModuleRecord* module = process.module(frame.module());
    return module && is_interpreter(module->path);
  });
  frames.erase(first, frames.end());
}

// The readings of one thread that are not looked at yet, and those of a stretch.
class Readings {
 public:
  Readings(const Operations& operations, std::vector<const UnwoundSample*> all)
      : operations_(operations), all_(std::move(all)) {}

  // Null: none is near enough. Asked for by time.
  const UnwoundSample* near(int64_t at) {
    const std::optional<size_t> stretch = stretch_of(operations_, at);
    if (!stretch) return nullptr;
    while (first_ < all_.size() && all_[first_]->at.count < at - kFarthest) ++first_;
    const UnwoundSample* nearest = nullptr;
    for (size_t i = first_; i < all_.size() && all_[i]->at.count <= at + kFarthest; ++i)
      if (stretch_of(operations_, all_[i]->at.count) == stretch &&
          (!nearest || std::abs(all_[i]->at.count - at) < std::abs(nearest->at.count - at)))
        nearest = all_[i];
    return nearest;
  }

 private:
  const Operations& operations_;
  std::vector<const UnwoundSample*> all_;
  size_t first_ = 0;
};

}  // namespace

std::vector<UnwoundSample> python_readings(const ProcessTrace& process) {
  std::vector<UnwoundSample> readings;
  auto samples = PythonSamples::open(process.folder / kPythonSamplesFile);
  if (!samples) return readings;
  for (const PythonSample& one : samples->all()) {
    UnwoundSample& reading = readings.emplace_back(
        UnwoundSample{{one.record->at_ns}, {one.record->weight_ns}, one.record->tid, {}, false});
    for (const uint64_t packed : one.frames) reading.frames.push_back(Frame{packed});
  }
  std::stable_sort(readings.begin(), readings.end(),
                   [](const UnwoundSample& one, const UnwoundSample& other) { return one.at < other.at; });
  return readings;
}

void add_python(const Process& process, std::vector<UnwoundSample> readings,
                std::vector<UnwoundSample>& samples) {
  if (readings.empty()) return;
  if (samples.empty()) {
    // Those behind samples have no time of their own.
    std::erase_if(readings, [](const UnwoundSample& one) { return one.weight.count == 0; });
    samples = std::move(readings);
    return;
  }
  std::map<uint32_t, std::vector<const UnwoundSample*>> by_thread;
  for (const UnwoundSample& reading : readings) by_thread[reading.tid].push_back(&reading);
  std::map<uint32_t, Readings> of_threads;
  for (const Thread& thread : process.threads) {
    const auto tid = static_cast<uint32_t>(process.trace->process.pid) + thread.behind_main;
    if (const auto found = by_thread.find(tid); found != by_thread.end())
      of_threads.try_emplace(tid, thread.operations, std::move(found->second));
  }
  for (UnwoundSample& sample : samples) {
    const auto thread = of_threads.find(sample.tid);
    const UnwoundSample* near = thread == of_threads.end() ? nullptr : thread->second.near(sample.at.count);
    if (!near) continue;
    cut_at_interpreter(*process.trace, sample.frames);
    sample.frames.insert(sample.frames.end(), near->frames.begin(), near->frames.end());
  }
}

}  // namespace diogenes
