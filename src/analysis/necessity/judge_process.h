// Verdicts of one process, from its facts: the interpretation's events through the judges, and what they say
// as the evidence of its operations.
// In: a process of stage 3 or 4 with its operations, and what its hashes say. Out: its evidence.
#pragma once
#include "analysis/necessity/interpret/peer_accesses.h"
#include "analysis/necessity/judgement.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

// `peers`: what other processes did to its memory.
Judgement judge_process(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers = {});

}  // namespace diogenes::necessity
