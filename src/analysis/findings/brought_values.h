// How often copies to the host brought the same bytes. In: the run that looks at the contents of copies. Out: figures by site.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

// Of the copies to the host at one site: how many there were, and how many of them brought the bytes that came most
// often.
struct BroughtValues {
  uint64_t all = 0, same = 0;
};

// By site. `memory_tracing`: while it has its operations.
std::vector<BroughtValues> brought_values(const Run& memory_tracing, const SiteTable& sites);

}  // namespace diogenes
