// SESSION/proved.json: what `diogenes prove` measured, schema diogenes-proved/4. Written by the launcher (prove/proof_table.cc),
// read by proved_report.h; this is the one definition of the format. Seconds are those of a run, counts are of all runs together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace diogenes {

inline constexpr const char* kProvedFile = "proved.json";

// A correction that was tried.
struct ProvedCorrection {
  std::string id;                                // "P1", "G2", "R1"; "": all together
  std::vector<std::string> keys;                 // of the findings that were corrected
  double expected_s = 0, low_s = 0, high_s = 0;  // what the report said then
  bool up_to = false;                            // expected_s is the most that can be gained
  double proved_s = 0, error_s = 0;              // median of the differences, two standard errors
  std::vector<double> differences_s;             // of each pair of runs
  uint64_t calls = 0, applied = 0;               // applied: corrected
  uint64_t touched = 0;                          // somebody came for the results before the GPU was done
  std::vector<std::pair<std::string, uint64_t>> not_applied;  // why: how many
  double awaited_s = 0;                                       // spent on waiting after all
  // Of a run: spent in corrected calls, which hides as much of a gain; and of that, on looking at the bytes of copies.
  double correcting_s = 0, looked_s = 0;
  // By finding: how often what it waits for was used before another wait, though nothing was to need it.
  std::vector<std::pair<std::string, uint64_t>> used;
  uint64_t other_content = 0;  // copies whose bytes were neither there nor one value
  uint64_t ordered = 0;        // pieces of GPU work that began behind other streams', in all runs
  std::string difference;      // of the results; "": they were equal
};

struct ProvedSession {
  int64_t session_started_ns = 0;               // Session::started_ns of what was measured
  std::string model;                            // of the report whose figures were expected
  double runtime_s = 0;                         // as it is
  double own_cost_s = 0, own_cost_error_s = 0;  // of the hooks alone
  // Differences are of the time from the first call of a correction to the end, against runs with the same hooks and nothing
  // corrected; else of whole runs, against those as it is.
  bool from_first_call = false;
  uint64_t pairs = 0;  // of the last proof; earlier ones may have had more
  std::vector<ProvedCorrection> corrections;
  std::vector<std::string> left_out;  // sentences

  // What correcting itself may hide of a gain.
  double most_hidden_s(const ProvedCorrection& one) const {
    return (from_first_call ? 0.0 : std::max(own_cost_s + own_cost_error_s, 0.0)) + one.correcting_s;
  }
};

// Adds to `proved` what `before` has of other findings of the same session, measured in the same way.
void keep_proved(const ProvedSession& before, ProvedSession& proved);

std::string proved_json(const ProvedSession& proved);
// Error: what is wrong with the text, behind the name of its file: "is not complete, or no JSON".
Result<ProvedSession> proved_from_json(std::string_view text);

// Does what was measured meet what was expected? `hidden_s`: what correcting itself costs at most, and hides. Of few pairs two
// standard errors hold less often than of many: they count by Student's t for 95%.
bool meets_expected(const ProvedCorrection& one, double hidden_s, double expected_s, double low_s,
                    double high_s);

// Nothing was gained, and correcting the calls took as long as there was to gain: nothing is proved, one way or the other.
bool is_too_dear(const ProvedCorrection& one);

// Does the figure say something of the finding? The results were the same, half of the calls were corrected, and the error
// is known.
inline bool says_something(const ProvedCorrection& one) {
  return one.difference.empty() && one.applied > 0 && 2 * one.applied >= one.calls &&
         one.differences_s.size() > 1;
}

// A finding that is withdrawn, and why.
struct WithdrawnKey {
  std::string key, reason;
};

// Findings that are not true of the runs in which they were corrected: nothing was to need what they wait for, and it was
// used; or their correction changed the results. Of the latter, what was corrected together with others is withdrawn, too,
// unless results were equal in another correction of it, or one of the others is withdrawn already, which explains the
// difference.
std::vector<WithdrawnKey> withdrawn_keys(const ProvedSession& proved);

inline bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace diogenes
