// Every cell of the matrix: its verdict is the table's; no needed synchronization is called unnecessary; and
// the program prints the same without all the waits that were called needless.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>

#include "oracle.h"
#include "run_process.h"

namespace diogenes::oracle {
namespace {

constexpr int64_t kLate = 500'000;  // ns; the late consumer comes after 1 ms
constexpr uint64_t kFrameBytes = 48;

struct Cell {
  std::string name, reason, function;
  char truth = 0;
  uint64_t frame = 0;
};

std::vector<Cell> cells_of(const std::string& program) {
  const auto run = bench::run_process({program, "--cells"},
                                      {.environment = {"LD_LIBRARY_PATH=" + built("lib/simulated")}});
  std::istringstream lines(run.output);
  std::vector<Cell> result;
  Cell cell;
  while (lines >> cell.name >> cell.truth >> cell.reason >> cell.function >> std::hex >> cell.frame >>
         std::dec)
    result.push_back(cell);
  return result;
}

// The cells by their frames' code.
const Cell* cell_of(const std::map<uint64_t, const Cell*>& by_frame, const SiteVerdict& site) {
  for (const CodePlace& place : site.stack) {
    if (place.module != "litmus") continue;
    auto after = by_frame.upper_bound(place.offset);
    if (after == by_frame.begin()) continue;
    const auto& [frame, cell] = *std::prev(after);
    if (place.offset - frame < kFrameBytes) return cell;
  }
  return nullptr;
}

// N, U or M, as the tool has it.
char verdict_of(const SiteVerdict& site) {
  if (site.always_unnecessary()) return 'U';
  return site.always_movable() && site.least_after_ns >= kLate ? 'M' : 'N';
}

TEST(Litmus, VerdictsAreTheTables) {
  std::vector<std::string> command = {built("bin/tests/programs/litmus")};
  if (const char* only = getenv("LITMUS_CELLS")) command.push_back(only);
  const std::vector<Cell> cells = cells_of(command[0]);
  ASSERT_GT(cells.size(), 300u);
  std::map<uint64_t, const Cell*> by_frame;
  for (const Cell& cell : cells) by_frame[cell.frame] = &cell;
  const Judged judged = judge(command);
  ASSERT_EQ(judged.trouble, "");

  std::map<const Cell*, std::vector<const SiteVerdict*>> tested;
  for (const SiteVerdict& site : judged.sites)
    if (const Cell* cell = cell_of(by_frame, site); cell && cell->function == site.function)
      tested[cell].push_back(&site);
  uint64_t right = 0, unsound = 0, cautious = 0;
  for (const Cell& cell : cells) {
    if (command.size() > 1 && cell.name.rfind(command[1], 0) != 0) continue;
    if (tested[&cell].size() != 1) {
      ADD_FAILURE() << cell.name << ": " << tested[&cell].size() << " sites of " << cell.function;
      continue;
    }
    const SiteVerdict& site = *tested[&cell][0];
    const char verdict = verdict_of(site);
    const char expected = cell.truth == 'u' || cell.truth == 'm' ? 'N' : cell.truth == 'n' ? 'U' : cell.truth;
    unsound += verdict == 'U' && (cell.truth == 'N' || cell.truth == 'M' || cell.truth == 'm');
    cautious += cell.truth == 'u' || cell.truth == 'm' || cell.truth == 'n';
    if (verdict == expected) {
      ++right;
      continue;
    }
    ADD_FAILURE() << cell.name << " is " << expected << " and was called " << verdict << ": "
                  << site.unnecessary << " of " << site.instances << " unnecessary, " << site.movable
                  << " movable from " << site.least_after_ns << " ns, reasons " << reason_words(site.reasons);
  }
  std::cout << right << " cells right, " << unsound << " unsound, " << cautious << " not yet watched\n";
  EXPECT_EQ(unsound, 0u);

  // The report may leave small ones out; it adds none.
  for (const auto& problem : judged.report["problems"]) {
    if (problem.value("kind", "") != "unnecessary-synchronization") continue;
    SiteVerdict site;
    for (const auto& frame : problem["stack"])
      site.stack.push_back(
          {frame["module"].get<std::string>().substr(frame["module"].get<std::string>().rfind('/') + 1),
           std::strtoull(frame["offset"].get<std::string>().c_str(), nullptr, 16)});
    const Cell* cell = cell_of(by_frame, site);
    if (!cell || problem.value("operation", "") != cell->function) continue;
    EXPECT_TRUE(cell->truth == 'U' || cell->truth == 'u' || cell->truth == 'n')
        << cell->name << " is in the report";
  }
  EXPECT_EQ(hold_against_oracle(command, judged), "");
}

}  // namespace
}  // namespace diogenes::oracle
