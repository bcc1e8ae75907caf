// Did a corrected run print what the program prints? A program may print times, which differ in each run: what the runs as
// it is have in common must be in the corrected one.
#pragma once
#include <string>
#include <vector>

namespace diogenes::launcher {

// `as_it_is`: the same output of several runs. Where a line is the same in all of them, it must be so in `corrected`; else
// it must be like one of theirs but for figures. "" : it is; else where it is not: "at line 12".
std::string differs_from_all(const std::vector<std::string>& as_it_is, const std::string& corrected);

}  // namespace diogenes::launcher
