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

struct Matrix {
  std::vector<std::string> command = {built("bin/tests/programs/litmus")};
  std::vector<Cell> cells;
  std::map<uint64_t, const Cell*> by_frame;
  Judged judged;
  std::map<const Cell*, std::vector<const SiteVerdict*>> tested;

  explicit Matrix(const std::string& part) : cells(cells_of(command[0])) {
    const char* only = getenv("LITMUS_CELLS");
    command.push_back(only ? only : part);
    std::erase_if(cells, [&](const Cell& cell) {
      if (only) return cell.name.rfind(only, 0) != 0;
      return (cell.name.find("-hostfunction-") == cell.name.npos) != (part == "--no-host-functions");
    });
    for (const Cell& cell : cells) by_frame[cell.frame] = &cell;
    judged = judge(command);
    for (const SiteVerdict& site : judged.sites)
      if (const Cell* cell = cell_of(by_frame, site); cell && cell->function == site.function)
        tested[cell].push_back(&site);
  }
};
const Matrix& matrix(const std::string& part) {
  static auto* matrices = new std::map<std::string, Matrix>;
  return matrices->try_emplace(part, part).first->second;
}

class Litmus : public testing::TestWithParam<const char*> {};

TEST_P(Litmus, VerdictsAreTheTables) {
  const auto& [command, cells, by_frame, judged, tested] = matrix(GetParam());
  ASSERT_FALSE(cells.empty());
  ASSERT_EQ(judged.trouble, "");
  uint64_t right = 0, unsound = 0, cautious = 0;
  for (const Cell& cell : cells) {
    const auto sites = tested.find(&cell);
    if (sites == tested.end() || sites->second.size() != 1) {
      ADD_FAILURE() << cell.name << ": " << (sites == tested.end() ? 0 : sites->second.size()) << " sites of "
                    << cell.function;
      continue;
    }
    const SiteVerdict& site = *sites->second[0];
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

std::map<std::string, std::string> lines_of(const std::string& output) {
  std::map<std::string, std::string> result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) result[line.substr(0, line.find(' '))] = line;
  return result;
}

// Without its wait, a result on the stack comes when the frame is another's: that is the end of the whole
// program, so these are not tried here.
bool is_tried(const Cell& cell) {
  const bool needed = cell.truth == 'N' || cell.truth == 'M' || cell.truth == 'm';
  return needed && cell.name.rfind("stack-", 0) != 0;
}

// The oracle's own test: without a wait that is needed in truth, what the cell prints is wrong. Otherwise the
// matrix proved nothing.
TEST_P(Litmus, TheAdversarialDriverTellsEveryNeededOne) {
  const auto& [command, cells, by_frame, judged, tested] = matrix(GetParam());
  ASSERT_EQ(judged.trouble, "");
  std::string list;
  for (const SiteVerdict& site : judged.sites)
    if (const Cell* cell = cell_of(by_frame, site); cell && is_tried(*cell)) list += skip_line(site);
  const auto before = lines_of(judged.alone.output), after = lines_of(run_late(command, list).output);
  for (const Cell& cell : cells) {
    if (!after.contains(cell.name))
      ADD_FAILURE() << cell.name << " was not played to its end";
    else if (is_tried(cell))
      EXPECT_NE(before.at(cell.name), after.at(cell.name)) << "without its " << cell.function;
    else
      EXPECT_EQ(before.at(cell.name), after.at(cell.name)) << "nothing of it was left out";
  }
}

INSTANTIATE_TEST_SUITE_P(, Litmus, testing::Values("--no-host-functions", "--host-functions"));

}  // namespace
}  // namespace diogenes::oracle
