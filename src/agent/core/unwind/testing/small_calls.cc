#define FUNCTIONS small_functions
#include "agent/core/unwind/testing/random_calls.inc"
