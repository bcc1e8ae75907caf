// A libcuda that is measured, and where it is hooked.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/build_id.h"
#include "driver/hooking/hook_site.h"
#include "trace/session.h"

namespace diogenes::launcher {

struct ChosenDriver {
  std::filesystem::path library;         // the libcuda file
  std::filesystem::path library_folder;  // for the program's LD_LIBRARY_PATH; empty: it finds it by itself
  bool simulated = false;
};

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

}  // namespace diogenes::launcher
