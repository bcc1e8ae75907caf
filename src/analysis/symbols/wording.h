// How figures and places are worded in reports.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

std::string grouped(uint64_t number);  // 1,234,567

// "1 synchronization", "1,234 synchronizations".
std::string counted(uint64_t number, const char* singular, const char* plural);

// "als.cpp:812" of the frame to act on (frame_owner.h); else "function in module", else "module+0x12"; "" without
// frames.
std::string place_of(const std::vector<ReportFrame>& stack);

// The same for a title: "als.cpp at line 812".
std::string place_in_title(const std::vector<ReportFrame>& stack);

}  // namespace diogenes
