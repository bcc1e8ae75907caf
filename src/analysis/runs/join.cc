#include "analysis/runs/join.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analysis/runs/first_uses.h"

namespace diogenes {
namespace {

// Where a site's instances are in one process: per thread that has any, in the order that pairs threads.
struct ThreadPositions {
  uint32_t thread = 0;
  std::vector<uint32_t> operations;
};
using Positions = std::vector<std::vector<ThreadPositions>>;  // by site

Positions positions_of(const Process& process, size_t sites) {
  Positions positions(sites);
  std::vector<uint32_t> order(process.threads.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return process.threads[a].behind_main < process.threads[b].behind_main;
  });
  for (uint32_t thread : order) {
    const auto& operations = process.threads[thread].operations;
    for (uint32_t i = 0; i < operations.size(); ++i) {
      if (operations[i].has(kDriverThread)) continue;
      auto& threads = positions[operations[i].site.value];
      if (threads.empty() || threads.back().thread != thread) threads.push_back({thread, {}});
      threads.back().operations.push_back(i);
    }
  }
  return positions;
}

// How often each place occurs; most frequent first.
class PlaceCounts {
 public:
  void add(StackPlace place) {
    if (place.stack != kNoStack) ++counts_[place];
  }
  std::vector<std::pair<StackPlace, uint64_t>> sorted() const {
    std::vector<std::pair<StackPlace, uint64_t>> result(counts_.begin(), counts_.end());
    std::stable_sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.second > b.second; });
    return result;
  }

 private:
  std::map<StackPlace, uint64_t> counts_;
};

const Thread* thread_of(const Process& process, OperationId id) {
  for (const Thread& thread : process.threads)
    if (thread.ordinal == id.thread) return id.sequence < thread.operations.size() ? &thread : nullptr;
  return nullptr;
}
const Operation* operation_of(const Process& process, OperationId id) {
  const Thread* thread = thread_of(process, id);
  return thread ? &thread->operations[id.sequence] : nullptr;
}
const Evidence* evidence_of(const Process& process, OperationId id) {
  const Thread* thread = thread_of(process, id);
  return thread ? &thread->evidence[id.sequence] : nullptr;
}

bool counts(const Operation& operation) { return operation.has(kWaited) || operation.bytes.count > 0; }

// The times to first uses in stage 2. Pairs come thread by thread, so the thread that was asked for last is
// looked at first.
class TimesInTracing {
 public:
  explicit TimesInTracing(const Run& tracing) {
    for (const Process& process : tracing.processes)
      for (const Thread& thread : process.threads) places_.push_back({&process, &thread});
  }

  void set(Operation& operation, const Thread& theirs, uint32_t index, TimeInBoth* gaps = nullptr) {
    operation.after = {theirs.evidence[index].after_ns};
    operation.after_placed = false;
    if (thread_ != &theirs) near_ = 0;
    thread_ = &theirs;
    const FirstUsePlace* place = first_use_of(theirs, index, near_);
    if (!place || !find(operation)) return;
    const Thread& ours = *places_[last_].thread;
    const auto instance = static_cast<uint32_t>(&operation - ours.operations.data());
    const auto use = place_in_tracing(*place, theirs, *places_[last_].process, ours, instance);
    if (!use) return;
    operation.after = use->after;
    operation.after_placed = true;
    if (!gaps || use->gap.count < 0) return;
    gaps->tracing += use->gap;
    gaps->memory_tracing += place->gap;
  }

 private:
  struct Place {
    const Process* process;
    const Thread* thread;
    bool holds(const Operation& operation) const {
      const auto& all = thread->operations;
      return std::less_equal<>()(all.data(), &operation) &&
             std::less<>()(&operation, all.data() + all.size());
    }
  };

  bool find(const Operation& operation) {
    for (size_t i = 0; i < places_.size(); ++i, last_ = last_ + 1 == places_.size() ? 0 : last_ + 1)
      if (places_[last_].holds(operation)) return true;
    return false;
  }

  std::vector<Place> places_;
  size_t last_ = 0;
  const Thread* thread_ = nullptr;  // whose first uses were looked through last, and where that ended
  size_t near_ = 0;
};

// Threads that have each site, over all processes.
std::vector<uint64_t> threads_with_site(const Run& run, size_t sites) {
  std::vector<uint64_t> threads(sites, 0);
  std::vector<uint32_t> last(sites, 0);
  uint32_t number = 0;
  for (const Process& process : run.processes)
    for (const Thread& thread : process.threads) {
      ++number;
      for (const Operation& operation : thread.operations)
        if (std::exchange(last[operation.site.value], number) != number) ++threads[operation.site.value];
    }
  return threads;
}

}  // namespace

namespace {

JoinResult join_with_itself(Run& run, const PairVisitor& pair) {
  JoinResult result;
  for (Process& process : run.processes)
    for (Thread& thread : process.threads)
      for (uint32_t i = 0; i < thread.operations.size(); ++i) {
        Operation& operation = thread.operations[i];
        const bool drivers = operation.has(kDriverThread);
        (drivers ? result.unmatched : result.matched) += counts(operation);
        if (!drivers) pair(&operation, process, thread, i);
      }
  return result;
}

}  // namespace

JoinResult join_operations(Run& tracing, const Run& other, const SiteTable& table, const PairVisitor& pair) {
  if (&tracing == &other) return join_with_itself(tracing, pair);
  size_t sites = table.size();
  JoinResult result;
  std::map<std::string, size_t> by_identity;
  for (size_t i = 0; i < tracing.processes.size(); ++i) by_identity[tracing.processes[i].identity] = i;
  uint64_t all = 0;
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      all += std::count_if(thread.operations.begin(), thread.operations.end(), counts);
  for (const Process& theirs : other.processes) {
    auto found = by_identity.find(theirs.identity);
    Process* ours = found == by_identity.end() ? nullptr : &tracing.processes[found->second];
    Positions our_positions = ours ? positions_of(*ours, sites) : Positions(sites);
    Positions their_positions = positions_of(theirs, sites);
    for (size_t site = 0; site < sites; ++site) {
      const auto& our_threads = our_positions[site];
      const auto& their_threads = their_positions[site];
      for (size_t k = 0; k < their_threads.size(); ++k) {
        const Thread& thread = theirs.threads[their_threads[k].thread];
        for (size_t i = 0; i < their_threads[k].operations.size(); ++i) {
          uint32_t index = their_threads[k].operations[i];
          Operation* operation = nullptr;
          if (k < our_threads.size() && i < our_threads[k].operations.size())
            operation = &ours->threads[our_threads[k].thread].operations[our_threads[k].operations[i]];
          if (operation)
            result.matched += counts(*operation);
          else
            result.extra += counts(thread.operations[index]);
          pair(operation, theirs, thread, index);
        }
      }
    }
  }
  result.unmatched = all - result.matched;
  return result;
}

namespace {

constexpr uint32_t kFurthest = 4096;  // calls, from a copy back to what it is like

void set_like(const Process& process, const Thread& thread, uint32_t index, SiteVerdicts& site) {
  const OperationId id = thread.evidence[index].like;
  const Operation* like = operation_of(process, id);
  if (!like || id.thread != thread.ordinal || id.sequence >= index || index - id.sequence > kFurthest) return;
  site.like = like->site;
  site.like_back = 0;
  for (uint32_t i = id.sequence; i < index; ++i) site.like_back += thread.operations[i].site == like->site;
}

}  // namespace

uint32_t like_of(const std::vector<Operation>& operations, uint32_t position, const SiteVerdicts& site) {
  uint32_t back = site.like_back;
  for (uint32_t i = position; back > 0 && i-- > 0 && position - i <= kFurthest;)
    if (operations[i].site == site.like && --back == 0) return i;
  return UINT32_MAX;
}

JoinResult join_verdicts(Run& tracing, const Run& memory_tracing, const SiteTable& sites,
                         std::vector<SiteVerdicts>& verdicts) {
  verdicts.assign(sites.size(), {});
  std::vector<PlaceCounts> uses(sites.size()), duplicates(sites.size()), lost(sites.size());
  std::vector<uint64_t> threads = threads_with_site(memory_tracing, sites.size());
  TimesInTracing times(tracing);
  auto pair = [&](Operation* operation, const Process& process, const Thread& thread, uint32_t index) {
    const Operation& theirs = thread.operations[index];
    const Evidence& evidence = thread.evidence[index];
    SiteVerdicts& site = verdicts[theirs.site.value];
    // A synchronization that found all done and did not wait got its verdict like any other: how fast the GPU
    // was in that run says nothing of who needs it.
    bool judged = (theirs.has(kWaited) || evidence.judged) && !theirs.has(kCapturing);
    // A failed call's caller acts on the error: it stays.
    uint32_t reasons = theirs.has(kFailed) ? evidence.reasons | kUnresolved : evidence.reasons;
    Duplicate duplicate = theirs.has(kFailed) ? Duplicate::none : evidence.duplicate;
    Unused unused = theirs.has(kFailed) ? Unused::no : evidence.unused;
    const Evidence* first = evidence_of(process, evidence.first);
    const Evidence* by = evidence_of(process, evidence.lost_by);
    // All findings hold together: what is copied from there on the device has to be sent there, and where a
    // transfer is left out because the bytes are there already, the one before it stays.
    if (duplicate == Duplicate::elsewhere && (!first || first->unused != Unused::no))
      duplicate = Duplicate::none;
    if (by && by->duplicate == Duplicate::verified) unused = Unused::no;
    const bool needed = reasons != 0 && !is_left_out(reasons);
    if (judged) {
      ++site.instances;
      site.judged += evidence.judged;
      site.unnecessary += reasons == 0;
      site.movable += is_movable(reasons) && evidence.after_ns >= 0;
      if (needed && !operation) ++site.unmatched_needed;
      if (needed && operation && !operation->has(kWaited)) {
        ++site.idle_needed;
        site.idle_movable += is_movable(reasons) && evidence.after_ns >= 0;
      }
      if (reasons != 0) uses[theirs.site.value].add({process.trace, evidence.use_stack});
    }
    auto add = [&](PlaceCounts& places, OperationId id) {
      if (const Operation* other = operation_of(process, id)) places.add(sites[other->site].place);
    };
    if (repeats(duplicate)) add(duplicates[theirs.site.value], evidence.first);
    set_like(process, thread, index, site);
    if (unused != Unused::no) add(lost[theirs.site.value], evidence.lost_by);
    if (!operation) return;
    operation->reasons = judged ? reasons : static_cast<uint32_t>(kUnresolved);
    operation->duplicate = duplicate;
    operation->unused = unused;
    operation->unused_percent = theirs.has(kFailed) ? 0 : evidence.unused_percent & 0x7f;
    operation->constant = theirs.has(kFailed) ? Constant::no : evidence.constant;
    operation->conditions = evidence.conditions;
    operation->left_out = theirs.left_out;
    times.set(*operation, thread, index, &site.gaps);
  };
  JoinResult result = join_operations(tracing, memory_tracing, sites, pair);
  for (size_t i = 0; i < sites.size(); ++i) {
    verdicts[i].threads = threads[i];
    verdicts[i].uses = uses[i].sorted();
    verdicts[i].duplicates = duplicates[i].sorted();
    verdicts[i].lost = lost[i].sorted();
  }
  return result;
}

JoinResult join_first_uses(Run& tracing, const Run& sync_use, const SiteTable& sites,
                           std::vector<SiteFirstUses>& first_uses) {
  first_uses.assign(sites.size(), {});
  std::vector<PlaceCounts> uses(sites.size());
  for (const Process& process : sync_use.processes)
    for (const Thread& thread : process.threads)
      for (size_t i = 0; i < thread.operations.size(); ++i) {
        const Evidence& evidence = thread.evidence[i];
        if (!evidence.judged || evidence.after_ns < 0) continue;
        first_uses[thread.operations[i].site.value].after_ns.push_back(evidence.after_ns);
        uses[thread.operations[i].site.value].add({process.trace, evidence.use_stack});
      }
  for (size_t i = 0; i < sites.size(); ++i) {
    std::sort(first_uses[i].after_ns.begin(), first_uses[i].after_ns.end());
    first_uses[i].uses = uses[i].sorted();
  }
  for (Process& process : tracing.processes)
    for (Thread& thread : process.threads)
      for (Operation& operation : thread.operations) {
        const auto& after = first_uses[operation.site.value].after_ns;
        if (!after.empty() && is_movable(operation.reasons)) operation.after = {after[after.size() / 2]};
      }
  TimesInTracing times(tracing);
  return join_operations(tracing, sync_use, sites,
                         [&](Operation* operation, const Process&, const Thread& thread, uint32_t index) {
                           const Evidence& evidence = thread.evidence[index];
                           if (operation && evidence.judged && evidence.after_ns >= 0)
                             times.set(*operation, thread, index);
                         });
}

}  // namespace diogenes
