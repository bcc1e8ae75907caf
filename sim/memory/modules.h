// Loaded modules and libraries, which the simulator keeps as one thing, and their functions, which are also
// its kernels.
#pragma once
#include <memory>
#include <vector>

#include "calls/state.h"
#include "device/kernels.h"
#include "variables.h"

namespace diogenes::sim {

struct Module;

struct Function {
  Module* module = nullptr;
  PtxEntry entry;
  const Kernel* kernel = nullptr;  // null: in the text, but nothing the simulator can run
  int dynamic_shared = 0;
};

struct Module {
  Context* context = nullptr;  // null: a library, which belongs to none
  Variables variables;
  std::vector<std::unique_ptr<Function>> functions;
};

// Handle of a function or of a kernel: the same here. Null: unknown. Wants the device lock.
Function* find_function(const void* handle);
// Drops what a context loaded. Wants the device lock.
void forget_modules(const Context& context);

}  // namespace diogenes::sim
