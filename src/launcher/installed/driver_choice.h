// Which libcuda is measured, what is known of it, and the hooks for each stage's plan.
// In: the driver's file, the wait functions (driver/discovery/discovery.h). Out: HookSites, and what could
// not be hooked.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/build_id.h"
#include "base/result.h"
#include "driver/hooking/hook_site.h"
#include "launcher/installed/installation.h"
#include "launcher/options.h"
#include "trace/session.h"

namespace diogenes::launcher {

struct ChosenDriver {
  std::filesystem::path library;         // the libcuda file
  std::filesystem::path library_folder;  // for the program's LD_LIBRARY_PATH; empty: it finds it by itself
  bool simulated = false;
};

// system: the first libcuda.so.1 of the user's LD_LIBRARY_PATH, or the one the dynamic linker knows. The
// error names
// --driver simulated. simulated: the one of this installation.
Result<ChosenDriver> choose_driver(DriverKind kind, const Installation& installation);

struct DriverHooks {
  ChosenDriver driver;
  BuildId build_id;
  std::string build_id_text, version;
  std::vector<WaitFunction> wait_functions;  // empty: not found, `problems` says why
  std::vector<HookSite> waits;               // stage 1
  std::vector<HookSite> all;                 // stages 2 to 4: waits and the catalogue
  std::vector<std::string> problems;  // one line each: discovery failed, functions that cannot be hooked
  std::string evidence_json;          // of the discovery
  bool from_cache = false;
};

// Error: the file cannot be read or is no libcuda for this processor. Everything less goes into `problems`.
Result<DriverHooks> prepare_driver(const ChosenDriver& driver, const Installation& installation,
                                   bool use_cache);

}  // namespace diogenes::launcher
