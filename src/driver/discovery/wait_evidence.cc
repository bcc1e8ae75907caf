#include "driver/discovery/wait_evidence.h"

#include <algorithm>
#include <map>

namespace diogenes {
namespace {

bool contains(const DriverStack& stack, uint64_t function) {
  return std::find(stack.begin(), stack.end(), function) != stack.end();
}

std::span<const DriverStack> second_half(const CallEvidence& call) {
  return std::span(call.samples).subspan(call.samples.size() / 2);
}

}  // namespace

DriverStack waiting_stack(const CallEvidence& call) {
  const auto samples = second_half(call);
  if (samples.empty()) return {};
  DriverStack common;
  for (const uint64_t function : samples.front()) {
    const auto has_it = [function](const DriverStack& stack) { return contains(stack, function); };
    if (!contains(common, function) && std::all_of(samples.begin(), samples.end(), has_it))
      common.push_back(function);
  }
  return common;
}

int waiting_calls(std::span<const CallEvidence> calls) {
  return static_cast<int>(
      std::count_if(calls.begin(), calls.end(), [](const CallEvidence& call) { return call.waited; }));
}

std::vector<WaitCandidate> rank_wait_candidates(std::span<const CallEvidence> calls,
                                                const std::function<bool(uint64_t)>& is_export) {
  std::map<uint64_t, WaitCandidate> found;
  for (const CallEvidence& call : calls) {
    if (!call.waited) continue;
    const DriverStack stack = waiting_stack(call);
    for (size_t i = 0; i < stack.size(); ++i) {
      if (is_export(stack[i])) continue;
      WaitCandidate& candidate = found[stack[i]];
      candidate.offset = stack[i];
      candidate.position =
          (candidate.position * candidate.agreed + static_cast<double>(i)) / (candidate.agreed + 1);
      ++candidate.agreed;
      for (const DriverStack& sample : second_half(call)) candidate.samples += contains(sample, stack[i]);
    }
  }
  std::vector<WaitCandidate> candidates;
  for (const auto& [offset, candidate] : found) candidates.push_back(candidate);
  std::sort(candidates.begin(), candidates.end(), [](const WaitCandidate& a, const WaitCandidate& b) {
    if (a.agreed != b.agreed) return a.agreed > b.agreed;
    if (a.samples != b.samples) return a.samples > b.samples;
    return a.position > b.position;
  });
  return candidates;
}

DriverStack queue_candidates(const CallEvidence& call, uint64_t wait_function,
                             const std::function<bool(uint64_t)>& is_export) {
  DriverStack candidates;
  if (!call.waited) return candidates;
  for (const uint64_t function : waiting_stack(call))
    if (function != wait_function && !is_export(function)) candidates.push_back(function);
  return candidates;
}

}  // namespace diogenes
