// Every cell of the table of transfer problems: the report names its kind there, at least twice of four
// times, and no other kind of transfer or allocation problem. (What it says of waits is the other matrix's
// matter.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "oracle.h"
#include "run_process.h"

namespace diogenes::oracle {
namespace {

struct Cell {
  std::string name, kind, when;
  int line = 0;
};

std::vector<Cell> cells_of(const std::string& program) {
  std::istringstream lines(printed({program, "--cells"}));
  std::vector<Cell> result;
  for (Cell cell; lines >> cell.name >> cell.line >> cell.kind >> cell.when;) result.push_back(cell);
  return result;
}

// The cell whose code the problem's stack goes through.
const Cell* cell_of(const std::vector<Cell>& cells, const nlohmann::json& problem) {
  for (const auto& frame : problem["stack"]) {
    if (!frame["file"].is_string() ||
        !frame["file"].get<std::string>().ends_with("litmus/transfers/transfers.cc"))
      continue;
    int line = frame["line"];
    for (size_t i = 0; i + 1 < cells.size(); ++i)
      if (cells[i].line <= line && line < cells[i + 1].line) return &cells[i];
  }
  return nullptr;
}

nlohmann::json report_of(const std::vector<std::string>& command, std::string* errors) {
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  std::vector<std::string> run = {tool("bin/diogenes"),
                                  "run",
                                  "--threshold",
                                  "0",
                                  "--max-overhead",
                                  "1000",
                                  "--driver",
                                  "simulated",
                                  "--output",
                                  session,
                                  "--report",
                                  folder.path() / "report.txt",
                                  "--"};
  run.insert(run.end(), command.begin(), command.end());
  std::vector<std::string> environment;
  if (!getenv("XDG_CACHE_HOME")) environment = {"XDG_CACHE_HOME=" + built("e2e-cache")};
  const auto ran = bench::run_process(run, {.environment = environment, .limit_s = 280});
  const auto exported =
      bench::run_process({tool("bin/diogenes"), "report", session, "--threshold", "0", "--format", "json"},
                         {.environment = environment});
  *errors = ran.errors + exported.errors;
  return nlohmann::json::parse(exported.output, nullptr, false);
}

TEST(Transfers, EveryCellIsOfItsKind) {
  const std::string program = built("bin/tests/programs/transfers");
  const auto cells = cells_of(program);
  ASSERT_GT(cells.size(), 30u);
  std::string errors;
  std::vector<std::string> command = {program};
  if (const char* only = getenv("LITMUS_CELLS")) command.push_back(only);
  const auto report = report_of(command, &errors);
  ASSERT_TRUE(report.is_object()) << errors;
  std::map<const Cell*, std::map<std::string, uint64_t>> found;
  for (const auto& problem : report["problems"]) {
    const std::string kind = problem["kind"];
    if (kind.ends_with("-synchronization")) continue;
    if (const Cell* cell = cell_of(cells, problem)) found[cell][kind] += problem["count"].get<uint64_t>();
  }
  for (const Cell& cell : cells) {
    if (cell.when == "later" && !getenv("LITMUS_LATER")) continue;
    if (cell.name == "end" || (command.size() > 1 && cell.name != command[1])) continue;
    for (const auto& [kind, count] : found[&cell])
      EXPECT_EQ(kind, cell.kind) << cell.name << " was called " << kind << ", " << count << " times";
    if (cell.kind != "none") {
      EXPECT_GE(found[&cell][cell.kind], 2u) << cell.name;
    }
  }
}

}  // namespace
}  // namespace diogenes::oracle
