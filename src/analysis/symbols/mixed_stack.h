// Stacks in which the machine's frames and Python's come together. In: a stack as it was recorded, the
// machine's frames first, Python's behind them. Out: its key, the same in every run; and the frames in the
// order in which they called each other. Each run of CPython's evaluator stands for the Python frames up to
// one that it was entered for; where a stack has frames of Python, those of the interpreter itself are left
// out.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/symbols/frame_owner.h"
#include "trace/reader.h"
#include "trace/site_key.h"

namespace diogenes {

// Adds the stack's frames: module and offset; of Python file, function, line and place in the line.
void add_stack(SiteKeyBuilder& key, const ProcessTrace& process, uint32_t stack);

// A frame of Python with its names.
ReportFrame python_frame(const ProcessTrace& process, Frame frame);

// Innermost first. `resolve`: the frames that one of the machine's stands for, which stay where they are.
std::vector<ReportFrame> named_stack(const ProcessTrace& process, uint32_t stack,
                                     const std::function<const std::vector<ReportFrame>&(Frame)>& resolve);

}  // namespace diogenes
