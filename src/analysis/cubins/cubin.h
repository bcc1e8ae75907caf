// What a cubin (the code of a module for one GPU) consists of: functions, calls, branches, lines. In: its bytes, or those of the
// copy that CubinFile::write_kept_part() made. They are not trusted: whatever they say, nothing beyond them is read, and time and
// memory are within small multiples of their number. Out: functions by name and place; what can be looked up in them. Loops:
// analysis/cubins/gpu_flow.h.
//
// Source: the ELF specification; nvcc 13's files for sm_75 to sm_121. In them each kernel has a section. Device functions that
// were not inlined lie behind it in the same section, as local symbols ("$_Z6kernelPf$_Z4leaff"): each kernel has its own copies.
// With -rdc=true each device function has a section, too. `.nv.callgraph` has pairs of symbols; those behind the mark (0, -4) are
// of a function that calls through a register, and of one that it may call. It has none without -rdc=true.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/cubins/branch_tables.h"
#include "analysis/cubins/control_instruction.h"
#include "analysis/cubins/cubin_tables.h"
#include "analysis/cubins/gpu_lines.h"
#include "base/index.h"
#include "base/result.h"
#include "driver/cubin_file.h"

namespace diogenes {

using GpuFunctionIndex = Index<struct GpuFunctionTag>;  // into Cubin::functions()

struct GpuFunction {
  std::string_view symbol;  // as in the file
  std::string_view
      name;  // mangled, without the kernel's: "_Z4leaff". Readable: demangle() of analysis/symbols
  bool is_kernel = false;  // it can be launched
  uint32_t section = 0;    // that holds its code
  uint32_t begin = 0,
           end =
               0;  // [begin, end), bytes from where the section starts. What lies in it is another function's
};

// A place in the code.
struct GpuPlace {
  GpuFunctionIndex function;
  uint32_t offset = 0;  // bytes from where the function's section starts
};

// An instruction, and what the file tells of it.
struct GpuControl {
  ControlInstruction instruction;  // a call into the function that it stands in is a branch
  uint32_t offset = 0;             // bytes from where the section starts
  GpuFunctionIndex callee;         // of calls; not valid: not known, or in no section of this file
  std::string_view callee_symbol;  // of calls by name
};

class Cubin {
 public:
  static constexpr size_t kMostFunctions = 200'000;

  Cubin(Cubin&&) = default;
  Cubin(const Cubin&) = delete;

  // Error: no cubin, or one that is cut or too large. The bytes belong to the Cubin from then on.
  static Result<Cubin> read(std::vector<uint8_t> bytes);

  int architecture() const { return file_.architecture(); }  // 90: sm_90
  // Sorted by section and begin; no two hold the same byte.
  std::span<const GpuFunction> functions() const { return functions_; }
  const GpuFunction& function(GpuFunctionIndex index) const { return functions_[index.value]; }

  // `symbol`: as in the file; `offset`: bytes from where its code starts. A kernel's own code ends where its device functions
  // start; an offset beyond is a place in one of them. Nothing: there is no such function, or no code there.
  std::optional<GpuPlace> find(std::string_view symbol, uint64_t offset) const;

  // Is control flow known? Else the sentence says why not: there are kernels and lines, and no more.
  bool has_control_flow() const { return doubt_.text[0] == 0; }
  const Error& doubt() const { return doubt_; }

  // What changes the flow of control in a function, by offset. None where that is not known.
  std::vector<GpuControl> control_of(GpuFunctionIndex function) const;
  // Where a branch by table may lead to, bytes from where the section starts. None: it is not known.
  std::vector<uint32_t> branch_targets(GpuFunctionIndex function, uint32_t offset) const;
  // Which functions it may call through registers, sorted; there may be others. They are those that the file lists or, where it
  // lists none, those of the same section that nothing calls directly: they would not be there if nothing called them.
  std::vector<GpuFunctionIndex> candidates(GpuFunctionIndex function) const;

  // Frames at a place, outermost first. None: there are no lines for it. Valid as long as the Cubin, which may be moved.
  std::vector<GpuFrame> frames_at(GpuPlace place) const;
  const GpuLines& lines() const { return lines_; }

 private:
  explicit Cubin(std::vector<uint8_t> bytes, CubinFile file) : bytes_(std::move(bytes)), file_(file) {}

  Status read_functions();
  void read_candidates();
  void check_code();
  std::span<const uint8_t> code_of(const GpuFunction& function) const;
  GpuFunctionIndex holding(uint32_t section, uint64_t offset) const;
  GpuFunctionIndex starting_at(uint32_t section, uint64_t offset) const;
  std::optional<GpuControl> control_at(const GpuFunction& function, std::span<const uint8_t> code,
                                       uint32_t offset) const;
  // What is wrong with it; null: nothing.
  const char* fault_of(const GpuFunction& function, const GpuControl& control) const;

  std::vector<uint8_t> bytes_;
  CubinFile file_;  // a view into bytes_
  CubinSymbols symbols_;
  std::vector<CubinRelocation> relocations_;  // of code
  std::vector<BranchTarget> branch_targets_;
  std::vector<GpuFunction> functions_;
  std::vector<GpuFunctionIndex> by_symbol_;                                // sorted by that
  std::vector<std::pair<GpuFunctionIndex, GpuFunctionIndex>> candidates_;  // caller, called; sorted
  std::vector<bool> called_directly_;                                      // by function
  GpuLines lines_;
  Error doubt_;
};

}  // namespace diogenes
