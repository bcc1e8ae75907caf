// What the verdicts have to keep: synchronizations that are needed for sure, and sets of which one is enough.
// In: for each conflicting pair, the synchronizations that order it. Out: which of them are needed, and for
// what. The choice among several is that of docs/necessity.md (The verdict): first one that the user cannot
// change, then one that is needed anyway, then explicit before implicit, then the latest in the thread that
// uses the data; the same site at each occurrence.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

using InstanceIndex = Index<struct InstanceTag>;

// What one use of data says of the synchronization that ordered it.
struct Use {
  uint32_t reason = 0;  // Reason bits
  ThreadNumber thread;  // who used it
  int64_t at_ns = -1;   // -1: not at a known time
  uint32_t stack = kNoStack;
  uint64_t address = 0;
  int64_t released_ns = -1;  // when its thread last handed anything on to another; -1: never
  bool handed_on = false;    // where another thread uses it: by releases and acquires that are certain
  bool at_edge =
      false;  // of a window: what it is needed for lies outside, so its site is not needed more than others
};

class Constraints {
 public:
  InstanceIndex add_instance(const Event& covers);
  void returned(InstanceIndex instance, int64_t at_ns) { instances_[instance.value].end_ns = at_ns; }
  void require(InstanceIndex instance, const Use& use);
  // True: the choice is made.
  bool require_one_of(std::span<const InstanceIndex> candidates, const Use& use);
  void add_condition(InstanceIndex instance, uint8_t condition);
  void choose();  // at the end: until every set has one that is required
  // By site: is one of its instances required? And sites that count as such: another process requires them.
  const std::vector<bool>& required_sites() const { return required_sites_; }
  void prefer(const std::vector<bool>& sites);

  bool required(InstanceIndex instance) const { return instances_[instance.value].reasons != 0; }
  SiteIndex site(InstanceIndex instance) const { return instances_[instance.value].site; }
  bool documented(InstanceIndex instance) const { return instances_[instance.value].documented; }
  size_t size() const { return instances_.size(); }
  Verdict verdict(InstanceIndex instance) const;
  void withdraw(InstanceIndex instance) { instances_[instance.value].reasons |= kUnresolved; }

 private:
  // One a synchronization, of which there can be millions.
  struct Instance {
    OperationId operation;
    int64_t end_ns = -1;
    SiteIndex site;
    uint32_t reasons = 0;
    uint32_t first_use = 0xffffffff;  // position in first_uses_
    uint16_t thread = 0xffff;         // as OperationId has it, more than these do not exist
    uint8_t conditions = 0;
    bool changeable : 1 = true;
    bool implicit : 1 = false;
    bool documented : 1 = true;
    bool own_work : 1 = false;
    bool handed_on : 1 = false;  // another thread used it behind a hand-over
  };
  static_assert(sizeof(Instance) == 32);
  struct FirstUse {
    int64_t after_ns;
    uint64_t address;
    uint32_t stack;
    bool before_hand_over;  // nothing was handed on between the wait's end and it
  };
  struct OneOf {
    std::vector<InstanceIndex> candidates;
    Use use;
  };
  bool better(InstanceIndex one, InstanceIndex other, const Use& use) const;
  bool site_required(SiteIndex site) const {
    return site.value < required_sites_.size() && required_sites_[site.value];
  }
  // The best of them, and whether that can be said before the trace ends.
  InstanceIndex best(std::span<const InstanceIndex> candidates, const Use& use) const;

  std::deque<Instance> instances_;
  std::deque<FirstUse> first_uses_;
  std::vector<bool> required_sites_;  // one of their instances is
  std::vector<OneOf> open_;
};

}  // namespace diogenes::necessity
