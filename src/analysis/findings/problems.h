// Which sites are problems. Source: SC'19, 3.3 and 3.4; docs/necessity.md, docs/models.md. In: the joined run of
// stage 2, its graph, what stages 3 and 4 say of each site. Out: problems with the changes that fixing them
// makes to the graph.
//
// A synchronization is an operation that entered the driver's wait function. An instance is unnecessary if
// stage 3 closed it with no reason; whatever has no verdict is needed. Of a site it is reported
//   - as unnecessary, if all of its instances are, in stage 3 as well as here;
//   - as conditionally unnecessary ('n of m'), if at least two and at least half of them are. Fewer are left
//   to a notice:
//     a last instance that nothing follows, say, tells a user nothing about the call.
//   An implicit one (inside a free, a fill, a copy, a module's load) whose call has to be made anyway is
//   reported only where it matters: it waited, or gains alone or together with the others, the threshold of
//   the GPU phase. The rest is counted.
// A transfer has at most one kind of problem of its own (problem_kinds.h). One that goes as a whole (a duplicate, or
// unused) is reported if half of a site's transfers are, or what they gain reaches the threshold; one that is
// replaced by a cheaper call, and an allocation, where the gain reaches the threshold. A wait that the same
// instance need not make belongs to the same problem: both go with the call. Memory that the same call
// releases and allocates over and over: where the release's wait is needless, its problem takes the
// allocations along (one fix ends both), else they are a problem of their own. A synchronization is misplaced
// if the first use of every needed instance of the site is the CPU's, at a known time, and moving the waits
// there gains the threshold. A last instance per thread that the program's end left open is no obstacle. A
// failed call is left alone. Of a program that marks a part of its run, what lies outside of that part decides with
// whether a site is unnecessary, but is no instance that is counted or gains. Instances that were not looked at, because of --max-overhead, are never
// problematic; 'all' and 'half' are of those that were.
#pragma once
#include <map>
#include <optional>

#include "analysis/findings/call_context.h"
#include "analysis/findings/problem_kinds.h"
#include "analysis/replay/models.h"
#include "analysis/runs/join.h"

namespace diogenes {

struct Problem {
  ProblemKind kind{};
  SiteIndex site;
  // Of the site, in the part that counts: waits; transfers or allocations, where the kind is of these.
  uint64_t instances = 0;
  uint64_t count = 0;     // problematic
  uint64_t left_out = 0;  // of the instances: not looked at, because of --max-overhead; they count as needed
  uint64_t unnecessary_waits = 0;    // of the problematic transfers, those whose wait is needless too
  uint64_t waits_not_judged = 0;     // of `changes`: that go but for their wait, which nobody judged
  uint64_t used = 0, unwatched = 0;  // unnecessary: of the other instances
  Nanoseconds waited, call;          // of the problematic instances
  Bytes bytes;
  std::vector<Change> changes;                        // in CPU order
  std::map<uint32_t, uint64_t> threads;               // how many of `count`, by thread of the graph
  Figure figure;                                      // all models'
  Nanoseconds benefit;                                // of fixing this problem alone
  std::optional<Nanoseconds> after;                   // misplaced: median time to the first use
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // most frequent first
  std::vector<std::pair<StackPlace, uint64_t>> duplicates;
  std::vector<std::pair<StackPlace, uint64_t>> lost;  // unused: what overwrote or released it
  uint64_t held = 0;            // round_trip: that the device still held where they were sent
  uint64_t words = 0;           // constant_transfer: of values of 2 or 4 bytes
  uint64_t zeros = 0;           // constant_transfer: of zeros
  uint64_t released_first = 0;  // unused_transfer: by a release, not by overwriting
  uint64_t allocations = 0;     // of a release's problem: that the fix ends too; of an allocation's: releases
  Nanoseconds allocation_time;  // of those
  std::vector<std::pair<StackPlace, uint64_t>> allocation_places;  // of those, most frequent first
  uint64_t conditional[8] = {};       // problematic instances by bit of Condition
  std::optional<CallContext> around;  // of the site's waits
  bool call_removed = false;          // the figure holds the calls' own time (some of them, for a release)
  bool releases = false;              // the call releases memory
  bool apart = false;                 // not right together with others that gain more (right_together.h)

  uint64_t looked_at() const { return instances - left_out; }
  uint64_t needs_new_memory() const { return conditional[3]; }
  bool transfer_issue() const { return is_transfer_kind(kind); }
  bool synchronization_issue() const {
    return (!transfer_issue() && !is_allocation_kind(kind)) || unnecessary_waits > 0;
  }
};

struct ProblemInput {
  const Run& tracing;
  const SiteTable& sites;
  const EventGraph& graph;
  const std::vector<SiteVerdicts>& verdicts;
  const std::vector<SiteFirstUses>& first_uses;  // empty: stage 4 is missing
  Nanoseconds threshold;
  const Models* models = nullptr;                           // null: the model `paper`
  const std::vector<CallContext>* call_contexts = nullptr;  // null: stage 3 is missing
};

struct Problems {
  std::vector<Problem> found;                     // largest benefit first
  uint64_t minor_sites = 0, minor_instances = 0;  // implicit waits, below the threshold
  uint64_t rarely_unnecessary_sites = 0;
  uint64_t minor_transfer_sites = 0, minor_transfers = 0;  // with a problem of their own, below the threshold
  uint64_t minor_allocation_sites = 0;
  uint64_t gains_nothing =
      0;  // calls that could be spared, and neither alone nor with the others gain anything
  uint64_t unsure_moves = 0;             // misplaced, and their small gain may be none
  uint64_t first_uses_from_stage_3 = 0;  // misplaced problems whose time to first use is stage 3's
};

Problems find_problems(const ProblemInput& input);

}  // namespace diogenes
