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

// A variable of the module, with no initial value: `.global .attribute(.managed) .align 4 .b8 name[64];`
struct PtxVariable {
  std::string name;
  size_t bytes;
  bool managed;
};
std::vector<PtxVariable> parse_ptx_variables(std::string_view text);

// Nothing: this is no PTX (no .version, .target, or a parameter list that does not end).
std::optional<std::vector<PtxEntry>> parse_ptx(std::string_view text);

}  // namespace diogenes::sim
