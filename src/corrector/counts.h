// What is counted, for the launcher to read: the file `corrections` of the process (trace/corrections.h).
#pragma once
#include "trace/corrections.h"

namespace diogenes::corrector {

class Counts {
 public:
  void start(const CorrectorServices& services);
  // The number of the site that is corrected there; -1: none.
  int find(uint64_t key, uint16_t function) const;
  bool lists(uint64_t key, uint16_t function) const;  // the plan has it, corrected or not

  void add_call(int site) { add(at(site).calls); }
  void add_deferred(int site) { add(at(site).deferred); }
  void add_undeferred(int site, Undeferred why) { add(at(site).undeferred[static_cast<int>(why)]); }
  void add_touched(int site) { add(at(site).touched); }
  void add_awaited(int64_t ns) {
    add(header().awaited);
    __atomic_fetch_add(&header().awaited_ns, ns, __ATOMIC_RELAXED);
  }
  void add_used(int site) { add(at(site).used); }
  bool was_used(int site) const { return at(site).used > 0; }  // ... though nothing was to need it
  void add_ordered() { add(header().ordered); }
  void add_other_content(int site) { add(at(site).other_content); }
  void add_looked(int64_t ns) { __atomic_fetch_add(&header().looked_ns, ns, __ATOMIC_RELAXED); }
  void add_correcting(int64_t ns) { __atomic_fetch_add(&header().correcting_ns, ns, __ATOMIC_RELAXED); }
  void add_passing(int64_t ns) { __atomic_fetch_add(&header().passing_ns, ns, __ATOMIC_RELAXED); }
  void note_begin(int64_t ns) { header().begun_ns = ns; }
  void note_end(int64_t ns) {  // the first counts
    if (header().ended_ns == 0) header().ended_ns = ns;
  }
  void add_failed() { add(header().failed); }
  bool names_events() const;  // some site waits for an event

 private:
  CorrectionsHeader& header() { return *header_; }
  CorrectionCounts& at(int site) const { return reinterpret_cast<CorrectionCounts*>(header_ + 1)[site]; }
  static void add(uint64_t& count) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); }

  const CorrectorServices* services_;
  CorrectionsHeader* header_;
};

}  // namespace diogenes::corrector
