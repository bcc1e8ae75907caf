// Reads from PTX text what a driver must know of it: the entries and their parameters. In: text, ended by a
// zero byte. Out: entries in order, with parameter offsets as a launch lays them out. It does not judge the
// code.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diogenes::sim {

struct PtxParameter {
  size_t offset, bytes;
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;
};

// Nothing: this is no PTX (no .version, .target, or a parameter list that does not end).
std::optional<std::vector<PtxEntry>> parse_ptx(std::string_view text);

}  // namespace diogenes::sim
