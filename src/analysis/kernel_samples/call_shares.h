// Who called a function of the GPU that was not inlined: its samples are shared among its callers in proportion to how often
// each called it. In: calls between the functions of one kernel, with estimates of how often they were made. Out: for each call
// its share of what it calls. Source: Zhou, Krentel, Mellor-Crummey (ICS'20), Algorithm 3; as gprof, it takes every call of a
// function to cost the same.
//
// It differs from the paper in three points:
// - Calls are counted by the issued samples of the block that a call stands in, for the call itself is seldom sampled.
// - No samples are made up for call sites without any (PropagateCallGraph): a function with one call site belongs there anyway,
//   and of several without samples nothing is known.
// - Where the error by formula 12 is expected above kMostCallError, the function is kept apart: shown, but below no caller.
#pragma once
#include <cstdint>
#include <vector>

namespace diogenes {

// The most error of call shares (formula 12, of one function) with which they are shown. It is the error that so few samples
// must be expected to have. Not in it: calls that are skipped by a predicate, and those that cost more than others of the same
// function. That part has not been measured yet.
inline constexpr double kMostCallError = 0.05;

struct SampledCall {
  uint32_t caller = 0, callee = 0;  // functions, by number
  double calls = 0;                 // how often it was made, in any unit that is the same for all
  double issued = 0;                // samples that this rests on
};

struct CallShares {
  // Functions that call each other, in circles or themselves, are one component.
  std::vector<uint32_t> component;             // by function
  std::vector<std::vector<uint32_t>> members;  // by component: functions, sorted
  std::vector<double> share;  // by call: of its callee's component; 0: within one, or kept apart
  // By component: nobody in another one calls it, or it is not known well enough how much each does.
  std::vector<bool> on_top;
  std::vector<bool> apart;  // the latter
};

// Calls of functions beyond `functions` are left out.
CallShares share_calls(uint32_t functions, const std::vector<SampledCall>& calls);

}  // namespace diogenes
