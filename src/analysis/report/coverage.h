// How much of a session can be believed: which runs came to their end, and on how many synchronizations there is a
// verdict. In: the session, the joined run of stage 2. Out: what is missing, in words, and counts.
#pragma once
#include <map>

#include "analysis/report/report.h"
#include "analysis/runs/run.h"
#include "trace/session.h"

namespace diogenes {

// A reason (evidence.h) by its bit: "cpu-access", "small-range", ...
const char* reason_code(uint32_t bit);

// What a result that was needed is used for, in a few words; "" where nothing is known of it.
const char* use_words(uint32_t bit);

// A synchronization is judged when something is known of it beside that it could not be watched.
ReportCoverage coverage_of(const Run& tracing);

// Counts by reason_code(), most frequent first.
std::vector<std::pair<std::string, uint64_t>> by_code(const std::map<uint32_t, uint64_t>& by_bit);

// One sentence for each thing that is missing; empty: the session is complete.
std::vector<std::string> what_is_missing(const Session& session, bool has_tracing, bool has_memory_tracing,
                                         const ReportCoverage& coverage);

}  // namespace diogenes
