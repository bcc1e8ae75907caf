#define FUNCTIONS frame_pointer_functions
#include "agent/core/unwind/testing/random_calls.inc"
