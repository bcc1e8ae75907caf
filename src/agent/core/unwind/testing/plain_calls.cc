#define FUNCTIONS plain_functions
#define DEFINES_COUNT
#include "agent/core/unwind/testing/random_calls.inc"
