// Which libcuda is measured, what is known of it, and the hooks for each stage's plan.
// In: the driver's file, the wait functions (driver/discovery/discovery.h). Out: HookSites, and what could
// not be hooked.
#pragma once
#include "base/result.h"
#include "launcher/installed/driver_hooks.h"
#include "launcher/installed/installation.h"
#include "launcher/options.h"

namespace diogenes::launcher {

// system: the first libcuda.so.1 of the user's LD_LIBRARY_PATH, or the one the dynamic linker knows. The
// error names
// --driver simulated. simulated: the one of this installation.
Result<ChosenDriver> choose_driver(DriverKind kind, const Installation& installation);

// Error: the file cannot be read or is no libcuda for this processor. Everything less goes into `problems`.
Result<DriverHooks> prepare_driver(const ChosenDriver& driver, const Installation& installation,
                                   bool use_cache);

}  // namespace diogenes::launcher
