// Reports that the tests of the views share. Figures are made up, but consistent.
#pragma once
#include "analysis/report/report.h"

namespace diogenes {

Report empty_report();      // a program in which nothing is wrong
Report als_report();        // a fold with two problems, one misplaced, one duplicate alone; runtime API names
Report bare_report();       // no lines, no device name, a killed program, strange characters
Report transfers_report();  // each kind of transfer and allocation problem
Report timed_report();  // als, with a timeline: three problematic waits, one needed, a stream, merged events
Report
proved_report();  // als, proved: as expected, not as expected, a group, a needed wait, one finding withdrawn
Report profiled_report();  // als, with kernels and calling contexts (profiled_report.cc)
Report crowded_report();   // a fold of eight problems, 14 findings in all, a sequence

}  // namespace diogenes
