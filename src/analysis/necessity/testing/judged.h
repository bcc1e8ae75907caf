// What the judge says of a literal timeline.
#pragma once
#include <vector>

#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/testing/literal_timeline.h"

namespace diogenes::necessity::testing {

inline std::vector<Verdict> judged(const Timeline& timeline) {
  Judge judge;
  timeline.replay(judge);
  judge.finish();
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < judge.size(); ++i) verdicts.push_back(judge.verdict(i));
  return verdicts;
}

using Reasons = std::vector<uint32_t>;  // of each synchronization, in order

inline Reasons reasons(const Timeline& timeline) {
  Reasons all;
  for (const Verdict& verdict : judged(timeline)) all.push_back(verdict.reasons);
  return all;
}

// A synchronization at whose end `memory` is watched.
inline Timeline& watching_sync(Timeline& t, ThreadNumber thread, std::vector<StreamNumber> streams,
                               uint32_t site, uint32_t watch, MemoryNumber memory = m0,
                               bool read_only = false) {
  return t.begin(thread).sync(thread, streams, site).watch(watch, memory, {0, 8}, read_only).end(thread);
}

}  // namespace diogenes::necessity::testing
