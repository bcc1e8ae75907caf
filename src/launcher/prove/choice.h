// Which findings are proved, and by which calls. In: the report, what the user named. Out: the corrections to be tried,
// all of them together first.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/proof/corrected_sites.h"
#include "analysis/report/report.h"
#include "base/result.h"
#include "ffm/plan.h"
#include "launcher/options.h"

namespace diogenes::launcher {

struct Correction {
  std::string id;     // "P1", "G2", "R1", "" for all together
  std::string title;  // "unnecessary cuStreamSynchronize, als.cc:41"
  double expected_s = 0, low_s = 0,
         high_s = 0;              // the report's; of a needed wait expected_s is the most that can be gained
  bool up_to = false;             // ... which expected_s then is
  std::vector<std::string> keys;  // of findings
  std::vector<CorrectedSite> sites;
  CorrectedSites by_key;        // of each finding
  bool leaves_threads = false;  // Plan::leaves_threads
};

struct Choice {
  std::vector<Correction> corrections;
  std::vector<std::string> left_out;       // a sentence each: what is not corrected, and why
  std::map<std::string, std::string> ids;  // of the report's problems, by key
  std::set<std::string>
      unneeded;  // keys of findings that the report says nothing needs, in all of their calls
};

// Error: an id that the report does not have. Sites are still to be found.
Result<Choice> choose_corrections(const Report& report, const std::vector<std::string>& only);

// Fills in the sites from the session's tracing run; what has none is left out.
Status find_sites(const std::filesystem::path& tracing, Choice& choice);

}  // namespace diogenes::launcher
