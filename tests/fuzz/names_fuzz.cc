// names.json (analysis/symbols/kept_names.h): any file may lie there, and new names are kept beside what could be read of it.
#include "analysis/symbols/kept_names.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::filesystem::path file = scratch_folder() / "names.json";
  write_file(file, bytes);
  ModuleRecord module{};
  constexpr char kPath[] = "/usr/bin/app";
  for (size_t i = 0; i < sizeof kPath; ++i) module.path[i] = kPath[i];
  module.build_id_length = 1;
  module.build_id[0] = 7;
  KeptNames names(file);
  ReportFrame frame;
  frame.function = "main";
  names.keep(module, 16, {frame});
  require(names.save().ok(), "names can be kept in place of a damaged file");
  const KeptNames again(file);
  const std::vector<ReportFrame>* frames = again.frames(module, 16);
  require(frames && frames->size() == 1 && frames->front().function == "main", "what was kept is there");
}

}  // namespace diogenes::fuzz
