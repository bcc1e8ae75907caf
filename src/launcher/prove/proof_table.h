// What `diogenes prove` found, as text and for SESSION/proved.json (analysis/proof/proved.h).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/proof/proved.h"
#include "launcher/prove/choice.h"
#include "launcher/prove/corrections_reader.h"
#include "launcher/prove/differences.h"
#include "launcher/prove/rounds.h"

namespace diogenes::launcher {

// A correction that was tried.
struct Proved {
  Correction correction;
  std::vector<double>
      differences_s;       // what each pair's corrected run took less (ProvedTable::from_first_call)
  CountsOfRun counts;      // of all its runs
  std::string difference;  // of its results from the session's, where as it is there was none; empty: equal
  PairedGain gain() const { return paired_gain(differences_s); }
};

struct ProvedTable {
  double runtime_s = 0;  // median of the runs as it is
  double whole_s = 0;    // of what the report's percentages are
  PairedGain own;        // what the hooks cost by themselves
  // Differences are of the time from the first call of a correction to the end, with the same hooks and nothing corrected; else of
  // the whole run as it is.
  bool from_first_call = false;
  int pairs = 0;
  std::vector<Proved> rows;
  std::map<std::string, std::string> ids;  // of findings, by key
  std::vector<std::string> left_out;       // sentences
  std::vector<WithoutEnd> without_end;
};

std::string proved_text(const ProvedTable& table);

// Said after the first pair, since further ones show no more: most calls are not corrected, and for which cause above all.
// Empty: they are.
std::string little_corrected(const Correction& correction, const CountsOfRun& counts);

// For SESSION/proved.json. `started_ns`: the session's; `model`: that of the report that was proved.
ProvedSession proved_session(const ProvedTable& table, int64_t started_ns, const std::string& model);

}  // namespace diogenes::launcher
