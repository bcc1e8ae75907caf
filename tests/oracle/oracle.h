// Verdicts against what happens: a program is measured, and run again on the simulated driver with every wait
// left out that the tool called needless, and every wait moved that it called movable (sim/late/late.h). Its
// output must stay.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace diogenes::oracle {

struct CodePlace {
  std::string module;  // file name
  uint64_t offset = 0;
};

// One call site that waited, as stage 5 sees it: the joined runs, nothing dropped for being small.
struct SiteVerdict {
  std::string function;          // "cuCtxSynchronize"
  std::vector<CodePlace> stack;  // innermost first
  uint64_t instances = 0;        // waits
  uint64_t unnecessary = 0;      // of them; all of them: the site is
  uint64_t movable = 0;          // with a first use by the CPU, at a known time
  uint64_t unresolved = 0;
  uint64_t unmatched_needed = 0;           // in stage 3, without a counterpart
  uint64_t idle_needed = 0;                // ... whose counterpart found all done and did not wait
  uint64_t idle_movable = 0;               // of those
  uint64_t needs_new_memory = 0;           // of those that may go or move: not where memory is allocated once
  uint64_t conditional = 0;                // of the unnecessary: as kernels' arguments have it
  uint32_t reasons = 0;                    // of any instance
  int64_t least_after_ns = -1;             // of the movable
  bool one_thread = true;                  // and each of its calls waited: its calls can be counted
  std::vector<uint32_t> instance_reasons;  // in order; where one_thread

  bool always_unnecessary() const {
    return instances > 0 && unnecessary == instances && unmatched_needed == 0 && idle_needed == 0;
  }
  bool always_movable() const {
    return instances > 0 && movable == instances && unmatched_needed == 0 && idle_movable == idle_needed;
  }
};

struct Ran {
  int exit_status = 0;
  std::string output, errors;
};

struct Judged {
  Ran alone, measured;
  std::vector<SiteVerdict> sites;
  std::vector<SiteVerdict> idle;  // made calls that did not wait
  nlohmann::json report;
  std::string trouble;  // "": none
};

// The driver that programs are judged on. On a system's own one there is no oracle: that is the simulator's.
enum class Driver : uint8_t { simulated, system };
void use_driver(Driver driver);
Driver driver();

// Of a session. "" or what is wrong with it.
// `idle`: call sites that never waited, function and stack alone.
std::string load_sites(const std::string& session, std::vector<SiteVerdict>* result,
                       std::vector<SiteVerdict>* idle = nullptr);
// Runs it alone, and under the tool; reads the session. Several threads may judge at a time.
Judged judge(const std::vector<std::string>& command);

// "" where nothing is listed. `skipped`, `moved`: sites.
std::string late_list(const std::vector<SiteVerdict>& sites, uint64_t* skipped = nullptr,
                      uint64_t* moved = nullptr);
// The line that leaves out all of a site's waits, whatever was said of them.
std::string skip_line(const SiteVerdict& site);
// On the adversarial driver, with the list of waits that it is to leave out. `patience_ms`: how long it lets
// a program be silent that may be waiting for the GPU by itself; 0: as it is.
Ran run_late(const std::vector<std::string>& command, const std::string& list, int patience_ms = 0);

// All of it: "" or what went wrong. A wrong output is tried again site by site, and the guilty are named;
// `guilty` gets the list's line.
std::string hold_against_oracle(const std::vector<std::string>& command, const Judged& judged,
                                std::string* guilty = nullptr);

// The first line that differs.
std::string difference(const std::string& before, const std::string& after);
std::string reason_words(uint32_t reasons);
// What a program prints with these arguments, on the driver that is used.
std::string printed(const std::vector<std::string>& command);

// The folder that this program is in, two up: test programs are in bin/tests/programs there.
std::string built(const std::string& name);
// The tool's: the same folder, or $DIOGENES_TOP (an unpacked portable one).
std::string tool(const std::string& name);

}  // namespace diogenes::oracle
