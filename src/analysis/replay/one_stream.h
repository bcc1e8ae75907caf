// Runs a schedule again where one thread gives work to one stream: every operation begins when the one before
// it has ended, so that its end is known when it is submitted, and no queue of events is needed. In, out and
// model: as simulate_events() (simulator.h); a test holds the two against each
// other. About 5 ns a node.
#pragma once
#include "analysis/replay/simulator.h"

namespace diogenes::replay {

// One thread, one stream at most.
bool in_one_stream(const Schedule& schedule);

Outcome simulate_one_stream(const Schedule& schedule, const std::vector<int64_t>& durations,
                            const Machine& machine, const Setting& setting, std::span<const Edit> edits,
                            std::vector<Checkpoint>* fill = nullptr,
                            const std::vector<Checkpoint>* use = nullptr);

// This way where it can be taken, else event by event.
Outcome simulate(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
                 const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill = nullptr,
                 const std::vector<Checkpoint>* use = nullptr);

}  // namespace diogenes::replay
