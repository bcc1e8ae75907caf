#define FUNCTIONS unoptimized_functions
#include "agent/unwind/testing/random_calls.inc"
