// Calls through functions whose frames are laid out in every way that compilers know: random depth, random
// order.
#pragma once
#include <functional>
#include <random>

namespace diogenes::agent::testing_unwind {

struct RandomCalls {
  std::mt19937 random;
  int depth = 0;                 // calls still to make
  std::function<void()> at_end;  // at the innermost
  unsigned sum = 0;              // keeps the functions from being taken away

  void next();  // one of all functions
};

using Function = void (*)(RandomCalls&);
// The functions of random_calls.inc, compiled with one set of options.
extern const Function plain_functions[], unoptimized_functions[], frame_pointer_functions[],
    small_functions[];
extern const int function_count;

}  // namespace diogenes::agent::testing_unwind
