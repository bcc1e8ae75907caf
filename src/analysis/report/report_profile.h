// Where time went: GPU work by what it is and by who gave it, and calling contexts that span CPU and GPU. Part of the
// report. Source: Zhou, Krentel, Mellor-Crummey, "Tools for top-down performance analysis of GPU-accelerated
// applications" (ICS'20): one tree of contexts, importance by formulas 1 to 3. What a faster kernel gains the run is
// the replay's (analysis/replay/).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_frame.h"
#include "analysis/report/report_kernel.h"

namespace diogenes {

// How much of the GPU's threads a kernel's launch can have at a time, by its resources alone.
struct ReportOccupancy {
  double percent = 0;
  std::string limiter;  // "registers", "shared memory", "threads of a block", "blocks"; "": nothing limits it
};

// One shape in which a kernel was launched.
struct ReportLaunchShape {
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers = 0;                                      // of a thread
  uint32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;  // of a block
  uint64_t count = 0;
  double gpu_s = 0;
  std::optional<ReportOccupancy> occupancy;  // none: the GPU's limits are not known
};

// One call path that gave the work.
struct ReportGpuPath {
  std::optional<ReportFrame> where;  // the user's line; none: no stack
  std::string via;                   // the library's function that it calls; "": none
  std::vector<ReportFrame> stack;    // innermost first
  uint64_t count = 0;                // pieces of work
  double gpu_s = 0;                  // how long these ran, summed
  std::optional<ReportWhatIf> what_if;
};

// A kernel, or a kind of copy or fill. Several that ran side by side count each.
struct ReportGpuWork {
  enum class Kind : uint8_t { kernel, to_device, to_host, on_device, fill, other };
  std::string id;  // "K1": by GPU time
  Kind kind = Kind::kernel;
  std::string name;  // demangled, without return type and parameters: "axpy<float, 4>"; "copy to the GPU"
  std::string full_name;  // a kernel's as it was recorded, demangled
  uint64_t count = 0;
  double gpu_s = 0, percent = 0;  // percent: of all GPU work
  double shortest_s = 0, median_s = 0, longest_s = 0;
  double least_s = 0, most_s = 0;         // of gpu_s, by process; the same where there is one
  uint64_t bytes = 0;                     // copies and fills
  bool in_graphs = false;                 // some of it is nodes of CUDA graphs
  std::vector<ReportLaunchShape> shapes;  // the longest first; some, where there are many
  uint64_t shape_count = 0;
  std::vector<ReportGpuPath> paths;  // the longest first; some, where there are many
  uint64_t path_count = 0;
  std::optional<ReportWhatIf> what_if;        // the largest have one
  std::optional<ReportKernelSamples> inside;  // none: it was not sampled
};

// A node of the tree of calling contexts. Times are of the node alone (exclusive) unless they say otherwise, in seconds,
// summed over threads and processes.
struct ReportContext {
  enum class Kind : uint8_t {
    root,   // the whole program: the first node, its own parent
    frame,  // a function of the CPU
    call,   // a call of the driver, or of the library function in front of it
    gpu,    // GPU work that the call above it gave: a kernel, a copy, a fill
    // Inside a kernel, where it was sampled. Its GPU time is shared out by its samples.
    gpu_function,  // inlined or not
    gpu_loop,      // of the source
    gpu_line,
    rest  // what is too small to be shown, together
  };
  uint32_t parent = 0;  // position in ReportProfile::contexts; always before the node
  Kind kind = Kind::frame;
  std::string name;  // function, call or kernel
  std::string call;  // a function of a Python library, as its users write it: "tensor.item()"; "": none
  std::string file, module;
  int line = 0;          // in `file`: the first from which the function was seen to call; 0: not known
  int called_line = 0;   // in the parent's file: where the parent calls it; 0: not known
  std::string language;  // "python", "c++"; "": not known
  FrameOwner owner = FrameOwner::application;
  uint64_t count = 0;   // call: calls; gpu, rest: pieces of work
  double cpu_s = 0;     // the CPU between calls of the driver
  double driver_s = 0;  // inside calls of the driver, not waiting
  double waited_s = 0;  // inside them, waiting for the GPU
  double gpu_s = 0;     // GPU work
  double idle_s = 0;    // of CPU and driver: meanwhile the GPU had nothing to do, and waited for this thread
  double recoverable_s = 0;  // of findings at this call: what fixing each gains
  std::optional<double> half_gain_s,
      none_gain_s;  // gpu: what the run gains if it took half as long, or no time
  // Inclusive, by process (rank): the least and the most. The same where there is one.
  double cpu_least_s = 0, cpu_most_s = 0, gpu_least_s = 0, gpu_most_s = 0;
  uint32_t threads = 0;    // in how many it occurs
  int32_t work = -1;       // gpu, and inside kernels: position in ReportProfile::work
  int32_t place = -1;      // inside kernels: position in ReportKernelSamples::nodes
  bool estimated = false;  // inside kernels: a share of a function that has several callers
};

inline bool is_inside_kernel(ReportContext::Kind kind) {
  using Kind = ReportContext::Kind;
  return kind == Kind::gpu_function || kind == Kind::gpu_loop || kind == Kind::gpu_line;
}

// From the first GPU work to the last: when none ran, and what the thread did meanwhile that gave the next. Sums of all processes.
struct ReportIdle {
  double phase_s = 0, idle_s = 0;
  // Parts of idle_s; what is missing is that of threads without contexts.
  double between_s = 0;            // between calls of the driver
  double calls_s = 0;              // inside calls that do not wait, and give nothing
  double waits_s = 0;              // inside waits whose work had ended
  double launching_s = 0;          // from the call that gives the next work until that begins
  double recording_s = 0;          // between calls: taken by the recording itself
  std::optional<double> asleep_s;  // of between_s: the thread had no CPU; none: the CPU was not sampled
  // The part of both in the program's main loop, of its process; 0: there is none.
  double loop_s = 0, loop_idle_s = 0;
  uint64_t loop_iterations = 0;
  // Of between_s: in one function, between the calls of two of its lines. The longest first; some, where there are many.
  struct Gap {
    uint32_t context = 0;       // the function: position in ReportProfile::contexts
    int before = 0, after = 0;  // lines of it; 0: not known
    double seconds = 0;
    uint64_t count = 0;              // how often
    std::optional<double> asleep_s;  // of `seconds`, as above
  };
  std::vector<Gap> gaps;
  // Of between_s: loops of the application's own machine code in which samples found the CPU. The longest first; some.
  struct Loop {
    std::string function, file, module;  // file "": its lines are not known
    uint64_t offset = 0;                 // of its first instruction, in module
    int first_line = 0, last_line = 0;   // 0: not known
    std::string caller, caller_file;  // the application's function that calls this one there most; "": none
    int caller_line = 0;
    double seconds = 0;
    uint64_t samples = 0;
  };
  std::vector<Loop> loops;
};

struct ReportProfile {
  double gpu_s = 0;       // all GPU work, pieces that ran side by side each; G_P
  double gpu_busy_s = 0;  // any of it ran; of several processes the sum
  double threads_s =
      0;  // all threads that made calls, from their first moment that is known to their last; C_P
  std::optional<ReportIdle> idle;       // none: not known
  double recording_s = 0;               // of that: taken by the recording itself, in no context
  uint64_t pieces = 0, unnamed = 0;     // of GPU work; unnamed: of kernels whose name was not told
  std::vector<ReportGpuWork> work;      // by GPU time
  uint64_t work_count = 0;              // before the smallest were left out
  double left_out_s = 0;                // GPU time of those
  std::vector<ReportContext> contexts;  // a parent before its children
  std::vector<std::string> notes;       // what the reader must know of these figures, a sentence each
  std::string
      no_samples;  // why it is not known what lies inside kernels, and what to do; "": it is, or nobody asked
};

}  // namespace diogenes
