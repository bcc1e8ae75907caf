// Why the GPU is idle, for all views: in how many words it is said, and the places at which it is. In: ReportProfile.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// Was the GPU idle for a tenth of the time from its first work to its last?
bool idle_is_worth_a_word(const ReportProfile& profile);
// "1.20 s of the 2.00 s from its first work to its last (60.0%)"
std::string idle_phrase(const ReportIdle& idle);

// "In the main loop: 100 ms of 500 ms (20.0%), 100 us in each of 1,000 iterations."; "": there is no main loop.
std::string idle_of_loop(const ReportIdle& idle);

// What was done meanwhile, and for how long. What is too short to be said is left out.
struct IdleMeanwhile {
  double seconds = 0;
  const char* what = "";
};
std::vector<IdleMeanwhile> idle_meanwhile(const ReportIdle& idle);

// A function of the application in which the GPU was idle, with what libraries and the driver did for it.
struct IdlePlace {
  double seconds = 0;
  std::string name, place;  // "als::iterate", "als.cc:180"
  // "gives the GPU 71,204 pieces of work, 1.41 us each, and lets it wait 24 us for each"; "": they are few, or long
  std::string short_work;
  bool of_python = false;  // mostly Python's own work, as samples found it: no call of the driver lies in it
  // Its parts: what it calls, or what lies between two of its calls. The longest first, and few.
  struct Part {
    double seconds = 0;
    std::string where;  // "line 210", "lines 423 to 412"; "": not known
    std::string what;   // "cudaMemcpy", "Tensor.backward", "between two calls"
  };
  std::vector<Part> parts;
};
// The longest first; none that is too short to be said.
std::vector<IdlePlace> idle_places(const ReportProfile& profile);

// A loop of the application's machine code in which the CPU was meanwhile.
struct IdleLoop {
  double seconds = 0;
  std::string name, place;           // "als::normalize", "als.cc:301 to 306"
  std::string caller, caller_place;  // "main", ", als.cc:20"; "": not known
};
std::vector<IdleLoop> idle_loops(const ReportProfile& profile);  // the longest first

// What the reader may conclude of a loop.
extern const char* const kIdleLoops;
// What the reader may conclude of a place.
extern const char* const kIdleGain;
// What is said of a place that is of_python, and what to do there.
inline constexpr const char* kPythonAlone = "Python computes, and calls nothing of the GPU's";
extern const char* const kWorkOfPython;
// What to do where there is much short work.
const char* short_work_advice(const ReportProfile& profile);

}  // namespace diogenes
