#define FUNCTIONS small_functions
#include "agent/unwind/testing/random_calls.inc"
