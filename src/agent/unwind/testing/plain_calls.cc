#define FUNCTIONS plain_functions
#define DEFINES_COUNT
#include "agent/unwind/testing/random_calls.inc"
