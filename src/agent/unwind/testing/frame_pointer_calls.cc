#define FUNCTIONS frame_pointer_functions
#include "agent/unwind/testing/random_calls.inc"
