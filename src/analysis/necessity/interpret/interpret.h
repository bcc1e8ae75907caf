// What the fact records of one process mean, in the judge's terms (events.h): the thread files merged by
// time, each record turned into events. CUDA's rules are applied here and nowhere behind: default streams,
// scopes of waits, memory kinds, addresses that are given out again.
//
// In: a process of stage 3 or 4 (analysis/runs/run.h). Out: events, handed one by one to a sink, the same at
// each replay; memory grows with what is open at a time, not with the trace. Damage is no error: what it
// leaves open is given as work or memory that may do anything, which is never judged, and is counted.
//
// Source: trace/format.h, docs/necessity.md, docs/driver-facts.md.
#pragma once
#include "analysis/necessity/events.h"
#include "analysis/necessity/interpret/survey.h"
#include "analysis/necessity/tables/tables.h"
#include "analysis/runs/peer_accesses.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

class Interpretation {
 public:
  // `process` outlives it, and holds its operations for replays with sites.
  // `peers`: accesses of other processes to its memory, by time; they outlive it, too.
  explicit Interpretation(const Process& process, std::span<const PeerAccess> peers = {})
      : process_(process), survey_(*process.trace), peers_(peers) {}

  // Events name the sites of their operations. `unnamed`: of memory that no work names.
  Unclear replay(EventSink& sink, std::vector<UnnamedMemory::Span>* unnamed = nullptr) const;
  // No event names a site. Operations may be changed meanwhile, or gone.
  Unclear replay_without_sites(EventSink& sink) const;

 private:
  const Process& process_;
  Survey survey_;
  std::span<const PeerAccess> peers_;
};

}  // namespace diogenes::necessity
