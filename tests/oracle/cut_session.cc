// cut-session SESSION [CUTS]: cuts a session's memory run into windows at random places, and judges it by what they show. What they
// call needless is removed from the whole run, and the check looks at that. A line with the counts; exit status 0 if it withdraws
// nothing. What was given and waited for in few places is soon tried: 100 cuts, if no number is given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "analysis/necessity/interpret/interpret.h"
#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/windows/judge_windows.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {
namespace {

struct Counts {
  uint64_t waits = 0, needless = 0;             // of the whole run
  uint64_t cuts = 0, shown = 0, found = 0;      // of its needless waits, by each cut
  uint64_t shown_by_any = 0, found_by_any = 0;  // the same by wait
  uint64_t unsound = 0;                         // waits that the check withdraws
};

struct LastTime : EventSink {
  int64_t first_ns = -1, last_ns = 0;
  void take(const Event& event) override {
    if (first_ns < 0) first_ns = event.at_ns;
    last_ns = event.at_ns;
  }
};

std::vector<WindowSpan> random_spans(std::mt19937_64& random, const LastTime& times, size_t windows) {
  std::uniform_int_distribution<int64_t> place(times.first_ns, times.last_ns + 1);
  std::vector<int64_t> edges(2 * windows);
  for (int64_t& edge : edges) edge = place(random);
  std::sort(edges.begin(), edges.end());
  std::vector<WindowSpan> spans;
  for (size_t i = 0; i < edges.size(); i += 2) spans.push_back({edges[i], edges[i + 1]});
  return spans;
}

void cut(const Process& process, int cuts, Counts& counts) {
  const Interpretation interpretation(process);
  const Replay replay = [&](EventSink& sink) { interpretation.replay(sink); };
  LastTime times;
  replay(times);
  Judge first, judge;
  replay(first);
  GateMarker marked(first.polling(), judge);
  replay(marked);
  judge.finish();
  const std::vector<bool> whole = judge.needed();
  counts.waits += whole.size();
  counts.needless += static_cast<uint64_t>(std::count(whole.begin(), whole.end(), false));
  std::vector<bool> shown(whole.size()), found(whole.size());
  std::mt19937_64 random(1);
  for (int i = 0; i < cuts; ++i) {
    const JudgedWindows judged = judge_windows(replay, random_spans(random, times, 1 + i % 3));
    std::vector<bool> needed(whole.size(), true);
    for (const JudgedWindow& window : judged.windows)
      for (size_t k = 0; k < window.instances.size(); ++k) {
        const size_t instance = window.instances[k];
        needed[instance] = window.needed[k];
        if (whole[instance]) continue;
        ++counts.shown;
        shown[instance] = true;
        if (window.needed[k]) continue;
        ++counts.found;
        found[instance] = true;
      }
    ++counts.cuts;
    counts.unsound += withdraw_unsound(
                          [&](EventSink& sink) {
                            GateMarker gates(first.polling(), sink);
                            replay(gates);
                          },
                          needed)
                          .withdrawn;
  }
  counts.shown_by_any += static_cast<uint64_t>(std::count(shown.begin(), shown.end(), true));
  counts.found_by_any += static_cast<uint64_t>(std::count(found.begin(), found.end(), true));
}

}  // namespace
}  // namespace diogenes::necessity

int main(int argc, char** argv) {
  using namespace diogenes;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "cut-session SESSION [CUTS]\n");
    return 2;
  }
  SiteTable sites;
  const auto run = load_run(std::filesystem::path(argv[1]) / "memory-tracing", sites, Load::evidence);
  if (!run) {
    fprintf(stderr, "cut-session: %s\n", run.error().c_str());
    return 1;
  }
  necessity::Counts counts;
  for (const Process& process : run->processes)
    necessity::cut(process, argc == 3 ? atoi(argv[2]) : 100, counts);
  printf(
      "%lu cuts: the check withdraws %lu; of %lu waits the whole run calls %lu needless; a cut that shows one of these calls %lu of "
      "%lu needless, some cut %lu of %lu\n",
      counts.cuts, counts.unsound, counts.waits, counts.needless, counts.found, counts.shown,
      counts.found_by_any, counts.shown_by_any);
  return counts.unsound == 0 ? 0 : 1;
}
