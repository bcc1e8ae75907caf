// Loops of the program's own machine code in which the CPU was while the GPU had nothing to do. In: samples of the CPU that lie in
// such time, names, and the files of the code. Out: the loops by time, with lines where there are any.
//
// A sample belongs to the innermost loop around the innermost frame of the application, whatever that calls. Loops that
// call the driver are left out: what the CPU does between two of its calls is said by function (views/shared/idle.h). The
// lines of a loop are those of the innermost function, inlined or not, that all of its code belongs to. One loop of the
// source may be several of the machine's (unrolled, and what remains): they are one here if they begin or end at the same
// line, and are not nested.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "analysis/profile/contexts.h"
#include "analysis/samples/code_loops.h"

namespace diogenes {

struct HotLoopInput {
  std::span<const IdleSample> samples;
  double idle_s = 0;                                                             // of the GPU, in all
  std::function<std::vector<ReportFrame>(uint32_t process, Frame frame)> named;  // innermost first
  std::function<const CodeLoop*(uint32_t process, Frame frame)> innermost;       // null: none
  // Does a call of the driver come from this part of the code?
  std::function<bool(const std::string& module, uint64_t begin, uint64_t end)> calls_driver;
};

std::vector<ReportIdle::Loop> find_hot_loops(const HotLoopInput& input);

}  // namespace diogenes
