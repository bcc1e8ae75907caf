// What the run gains if GPU work took half as long, and if it took no time: the recorded schedule, run again with shorter
// work. In: the tracing run with what its operations' GPU work is, its replay. Out: for the items that take longest,
// and for their paths where they have several, gains with their ranges, as the program is and once what is found is
// fixed. What is hidden behind other work or behind the CPU gains 0.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "analysis/program/gpu_work.h"
#include "analysis/replay/models.h"
#include "analysis/report/report_profile.h"

namespace diogenes {

// A part of an item's time: a loop in a kernel, by its share of the kernel's samples.
struct PartOfWork {
  uint32_t item = 0;
  double share = 0;  // of 1
};

struct WhatIfs {
  std::map<uint32_t, ReportWhatIf> items;                       // by position in GpuWorkFound::items
  std::map<std::pair<uint32_t, uint32_t>, ReportWhatIf> paths;  // by item and site
  std::vector<std::optional<ReportWhatIf>>
      parts;  // as asked for; as the program is. None: there were too many
};

// `fixed`: what is found, made; null: nothing is found.
WhatIfs find_what_ifs(const Run& tracing, const GpuWorkFound& work, const Replay& replay,
                      const Replay::Made* fixed, const std::vector<PartOfWork>& parts = {});

}  // namespace diogenes
