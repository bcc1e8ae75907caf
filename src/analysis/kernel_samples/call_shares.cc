#include "analysis/kernel_samples/call_shares.h"

#include <algorithm>
#include <cmath>

namespace diogenes {
namespace {

// Tarjan's algorithm, with a stack of its own: damaged code may have long chains of calls.
class CallComponents {
 public:
  CallComponents(uint32_t functions, const std::vector<SampledCall>& calls) : called_(functions) {
    for (const SampledCall& call : calls)
      if (call.caller < functions && call.callee < functions) called_[call.caller].push_back(call.callee);
    number_.assign(functions, kNone);
    lowest_.assign(functions, 0);
    component_.assign(functions, kNone);
    for (uint32_t i = 0; i < functions; ++i)
      if (number_[i] == kNone) visit(i);
  }
  std::vector<uint32_t> take() { return std::move(component_); }
  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Open {
    uint32_t function;
    size_t next;
  };

  void visit(uint32_t first) {
    std::vector<Open> open;
    const auto enter = [&](uint32_t function) {
      number_[function] = lowest_[function] = next_++;
      path_.push_back(function);
      open.push_back({function, 0});
    };
    enter(first);
    while (!open.empty()) {
      const uint32_t at = open.back().function;
      if (open.back().next < called_[at].size()) {
        const uint32_t to = called_[at][open.back().next++];
        if (number_[to] == kNone)
          enter(to);
        else if (component_[to] == kNone)
          lowest_[at] = std::min(lowest_[at], number_[to]);
        continue;
      }
      open.pop_back();
      if (!open.empty()) {
        uint32_t& above = lowest_[open.back().function];
        above = std::min(above, lowest_[at]);
      }
      if (lowest_[at] == number_[at]) close(at);
    }
  }

  void close(uint32_t head) {
    for (;;) {
      const uint32_t one = path_.back();
      path_.pop_back();
      component_[one] = count_;
      if (one == head) break;
    }
    ++count_;
  }

  std::vector<std::vector<uint32_t>> called_;
  std::vector<uint32_t> number_, lowest_, component_, path_;
  uint32_t next_ = 0, count_ = 0;
};

// Formula 12 for one function, with shares p of n samples: each has the variance p (1 - p) / n.
double expected_error(const std::vector<double>& shares, double samples) {
  if (shares.size() < 2) return 0;
  if (samples <= 0) return 1;
  double variance = 0;
  for (const double share : shares) variance += share * (1 - share) / samples;
  return std::sqrt(variance / static_cast<double>(shares.size()));
}

}  // namespace

CallShares share_calls(uint32_t functions, const std::vector<SampledCall>& calls) {
  CallShares out;
  CallComponents components(functions, calls);
  out.component = components.take();
  out.members.resize(components.count());
  for (uint32_t i = 0; i < functions; ++i) out.members[out.component[i]].push_back(i);
  out.share.assign(calls.size(), 0);
  out.on_top.assign(components.count(), true);
  out.apart.assign(components.count(), false);
  std::vector<std::vector<uint32_t>> incoming(components.count());
  for (uint32_t i = 0; i < calls.size(); ++i) {
    const SampledCall& call = calls[i];
    if (call.caller >= functions || call.callee >= functions) continue;
    if (out.component[call.caller] != out.component[call.callee])
      incoming[out.component[call.callee]].push_back(i);
  }
  for (uint32_t i = 0; i < components.count(); ++i) {
    if (incoming[i].empty()) continue;
    double all = 0, issued = 0;
    for (const uint32_t call : incoming[i]) all += calls[call].calls, issued += calls[call].issued;
    std::vector<double> shares;
    for (const uint32_t call : incoming[i])
      shares.push_back(incoming[i].size() == 1 ? 1 : all > 0 ? calls[call].calls / all : 0);
    out.apart[i] = expected_error(shares, all > 0 ? issued : 0) > kMostCallError;
    out.on_top[i] = out.apart[i];
    for (size_t k = 0; k < shares.size() && !out.apart[i]; ++k) out.share[incoming[i][k]] = shares[k];
  }
  return out;
}

}  // namespace diogenes
