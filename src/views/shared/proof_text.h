// What `diogenes prove` measured, in the words that all views share.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// "expected 9.1%, proved 8.8% +- 0.4; 398 of 400 calls; results equal"
std::string proof_text(const ReportProved& proved);
// The same in time, too: "expected 110 ms (9.1%), proved 107 ms +- 4.80 ms (8.8% +- 0.4); ..."
std::string proof_details(const ReportProved& proved);

// Of all that was corrected together. "": nothing was.
std::string proof_of_all(const Report& report);

// What has to be read first, a sentence each: what is withdrawn, and where proved and expected do not meet.
std::vector<std::string> proof_warnings(const Report& report, const std::string& folder);

// "P1, cudaFree: needless wait, src/als.cc:88 in als::step: correcting it changed the results (stdout differs ...)"
std::string withdrawn_text(const ReportWithdrawn& withdrawn, const std::string& folder);

}  // namespace diogenes
