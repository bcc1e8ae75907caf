// What the benchmarks of estimates do with a program: measure it with `diogenes run`, and run it and its
// fixed variant in turns without the tool. Everything is found relative to the program that asks:
// DIR/bin/NAME, DIR/bin/diogenes, DIR/bin/examples. A run that fails throws, with what the program said.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_process.h"

namespace diogenes::bench {

struct Layout {
  std::filesystem::path top = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  std::filesystem::path diogenes = top / "bin/diogenes";
  std::filesystem::path examples = top / "bin/examples";
  std::filesystem::path simulated = top / "lib/simulated";
};

using Command = std::vector<std::string>;

// How many pairs: at least `least`, then more until the standard error of the benefit is 2.5% of it or 0.25%
// of the run time, or there are `most`. (The tolerances of docs/accuracy.md are 5% or more, and 1%.)
struct Pairs {
  int least = 7, most = 7;
};

// Seconds. The benefit is what the fixed variant took less, median of pairs, between the two points that the
// program itself notes (example::Gpu: the GPU is ready, the work is done): the driver's start, some tenths of
// a second that scatter more than most benefits, is the same in both. `process_*`: from fork to exit, for
// comparison, and in place of the former for programs that note nothing.
struct Actual {
  double runtime_s = 0;  // of the whole process
  double noted_s = 0;    // of the original, between the two points; 0 if it notes nothing
  double benefit_s = 0, error_s = 0;
  double process_benefit_s = 0, process_error_s = 0;
  std::vector<double> differences_s;
  bool noted = false;
};

// What `diogenes prove` measured with all that it can correct, corrected at once (docs/proving.md).
struct ProvedBenefit {
  bool same_change = false;  // it corrected all that was found, so it is the change that was made by hand
  double benefit_s = 0, error_s = 0;  // error_s: a standard error
  double hidden_s = 0;                // of a run: spent in corrected calls, which the benefit lacks
  bool too_dear = false;              // nothing is proved (analysis/proof/proved.h)
  uint64_t calls = 0, applied = 0;
  bool results_equal = true;
  std::vector<std::string> left_out;  // what it did not correct, and why
};

class Trial {
 public:
  // `keep`: sessions and reports go there and stay; empty: nowhere.
  Trial(std::string driver, const std::string& keep);

  // The report on the program, as JSON; `options`: further ones of `diogenes run`.
  nlohmann::json report(const std::string& name, const Command& program, const Command& options = {}) const;
  // The same program, after report().
  ProvedBenefit proved(const std::string& name, const nlohmann::json& report, int pairs) const;
  // Removes the session that report() made, unless it is kept.
  void done_with(const std::string& name) const;
  // After one run of each that does not count. The two must print the same.
  Actual actual(const std::string& name, const Command& original, const Command& fixed,
                const Pairs& pairs) const;

  const Layout& layout() const { return layout_; }

 private:
  struct Timed {
    double process_s = 0, noted_s = -1;
    std::string output;
  };
  Timed plain_run(const std::string& name, const Command& program) const;
  std::filesystem::path file(const std::string& name, const char* extension) const;

  Layout layout_;
  std::string driver_;
  TemporaryFolder temporary_;
  std::filesystem::path folder_;
  bool kept_;
};

}  // namespace diogenes::bench
