// Verdicts of one process, from its facts: the interpretation's events through the judges, and what they say
// as the evidence of its operations.
// In: a process of stage 3 or 4 with its operations, and in the evidence what hashes say. Out: its evidence.
// Processes of agents that judge for themselves have no facts, and are left as they are.
#pragma once
#include "analysis/necessity/judgement.h"
#include "analysis/necessity/peer_accesses.h"
#include "analysis/run.h"

namespace diogenes::necessity {

// Are there facts to judge? Else the verdicts are in the trace.
bool has_facts(const ProcessTrace& trace);

// `peers`: what other processes did to its memory.
Judgement judge_process(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers = {});

}  // namespace diogenes::necessity
