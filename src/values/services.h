// What following values needs of others: the agent's services, and what the plan says (source.cc).
#pragma once
#include "trace/value_source.h"

namespace diogenes::values {

// Which arguments of a call into the driver are values or lead to some. Positions from 0; -1: there is none.
struct DriverArguments {
  int8_t values = 0;               // so many, from the first on
  int8_t parameters = -1;          // a kernel's: an array of pointers to them
  int8_t source = -1, bytes = -1;  // of a copy
};

struct Services : ValueServices {
  DriverArguments (*arguments_of)(uintptr_t function);  // of the driver's that begins there
  bool (*followed)(uintptr_t instruction);              // the plan names it
  int64_t budget_ns;                                    // that single-stepping may take in this process
};

}  // namespace diogenes::values
