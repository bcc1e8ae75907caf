// Inside a kernel: where samples of the GPU's instruction pointers lie, and why its warps did not go on. Part of the report.
// Samples weigh places of one kernel against each other. They do not tell time, which is that of the kernel, from GPU times.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diogenes {

// What the run gains by a change of GPU work; low <= seconds <= high.
struct ReportGain {
  double seconds = 0, low_s = 0, high_s = 0;
};

// What if the work took half as long, and if it took no time at all (the most that can be gained).
struct ReportWhatIf {
  ReportGain half, none;  // as the program is
  std::optional<ReportGain> half_fixed,
      none_fixed;      // once the report's problems are fixed; none: there are none
  std::string reason;  // why the range is wide; "": it is not
};

// Of the reasons, those two that are no stalls: an instruction was issued; one could have been, but that of another warp was.
inline constexpr std::string_view kSelected = "selected", kNotSelected = "not_selected";

struct ReportStall {
  uint32_t reason = 0;  // position in ReportKernelSamples::reasons
  double samples = 0;
};

// Parts of samples are possible: those of a function are shared among its callers.
struct ReportSampleCount {
  double samples = 0;
  double latency = 0;               // of these: no warp of the scheduler issued an instruction
  std::vector<ReportStall> stalls;  // the most first
};

// A node of the tree inside a kernel.
struct ReportKernelNode {
  enum class Kind : uint8_t {
    kernel,    // the first node, its own parent
    function,  // that was called
    inlined,   // a function whose code is in its caller's
    loop,      // of the source
    line,
    rest  // what is too small to be shown, together
  };
  uint32_t parent = 0;  // position in ReportKernelSamples::nodes; always before the node
  Kind kind = Kind::line;
  std::string function;  // loop, line: which they belong to; without return type and parameters
  std::string file;      // "": not known
  int line = 0;       // loop: its first; kernel, function, inlined: the first that was sampled; 0: not known
  int last_line = 0;  // loop
  int called_line = 0;                  // function, inlined: where the parent calls it; 0: not known
  bool estimated = false;               // a share of a function that has several callers
  ReportSampleCount own, all;           // all: with those below
  std::optional<ReportWhatIf> what_if;  // if this place took half as long, or no time; the hottest have one
};

// Lines of the source, with samples.
struct ReportSampledSource {
  struct Line {
    std::string text;
    double samples = 0;
    int32_t reason = -1;  // that most of them have: position in ReportKernelSamples::reasons; -1: no samples
  };
  std::string file;
  int first = 0;
  std::vector<Line> lines;
};

struct ReportKernelSamples {
  std::vector<std::string> reasons;  // as CUPTI names them
  std::vector<ReportKernelNode> nodes;
  std::vector<uint32_t> hottest;   // nodes: loops, and lines outside of loops; the most samples first
  std::string why_no_lines;        // a sentence; "": there are some
  std::vector<std::string> notes;  // what the reader must know of this kernel's figures, a sentence each
  // Shares of 1 (ICS'20, formulas 4, 6 and 7): of cycles in which a scheduler issued; in which it had a warp that could go
  // on; in which any scheduler of the multiprocessor had one.
  double issue_rate = 0, eligible_rate = 0;
  std::optional<double> busy_rate;
  std::optional<double> instructions_a_cycle;  // of warps, on one multiprocessor (formula 5, without threads)
  // Of all multiprocessors' cycles while it ran, those in which one had a warp of it (formula 9): a share of 1.
  std::optional<double> active_rate;
  std::optional<double> instructions_a_launch;  // of warps (formula 10)
  std::vector<ReportSampledSource> source;  // around the hottest places; empty: not there, or changed since

  double samples() const { return nodes.empty() ? 0 : nodes.front().all.samples; }
  double share(double samples_of) const { return samples() > 0 ? samples_of / samples() : 0; }
};

}  // namespace diogenes
