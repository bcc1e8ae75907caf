// Test support: the events that fact records mean.
#pragma once
#include <string>
#include <vector>

#include "analysis/necessity/interpret/interpret.h"
#include "analysis/necessity/testing/event_text.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::necessity::testing {

struct Interpreted {
  std::vector<std::string> lines;
  Unclear unclear;
};

// All events, or without allocations and the begins and ends of calls.
inline Interpreted all_events(const diogenes::testing::Facts& facts) {
  diogenes::testing::TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::operations);
  TextSink sink;
  Interpreted result;
  result.unclear = Interpretation(run->processes.at(0)).replay(sink);
  result.lines = sink.lines;
  return result;
}

inline std::vector<std::string> events(const diogenes::testing::Facts& facts) {
  std::vector<std::string> lines = all_events(facts).lines;
  std::erase_if(lines, [](const std::string& line) {
    return line.find(" begin ") != line.npos || line.find(" end ") != line.npos ||
           line.find(" allocates ") != line.npos || line.ends_with(" ends");
  });
  return lines;
}

}  // namespace diogenes::necessity::testing
