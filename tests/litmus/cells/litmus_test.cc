// Every cell of the matrix: its verdict is the table's; no needed synchronization is called unnecessary; and
// the program prints the same without all the waits that were called needless. LITMUS_CELLS: the beginning of
// the names of those to play.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "matrix.h"

namespace diogenes::oracle {
namespace {

const Matrix& matrix(const std::string& part) {
  static auto* matrices = new std::map<std::string, Matrix>;
  const char* only = getenv("LITMUS_CELLS");
  return matrices->try_emplace(part, only ? only : part).first->second;
}

class Litmus : public testing::TestWithParam<const char*> {};

TEST_P(Litmus, VerdictsAreTheTables) {
  const Matrix& played = matrix(GetParam());
  ASSERT_FALSE(played.cells.empty());
  ASSERT_EQ(played.judged.trouble, "");
  uint64_t right = 0, unsound = 0, skipped = 0, cautious = 0;
  for (const CellResult& result : played.results()) {
    right += result.state == CellState::right;
    unsound += result.state == CellState::unsound;
    skipped += result.state == CellState::skipped;
    cautious += is_cautious(result.cell->truth);
    if (result.state == CellState::skipped)
      std::cout << "skipped " << result.cell->name << ": " << result.text << "\n";
    else if (result.state != CellState::right)
      ADD_FAILURE() << result.cell->name << " " << result.text;
  }
  std::cout << right << " cells right, " << unsound << " unsound, " << skipped << " skipped; " << cautious
            << " not yet watched\n";
  EXPECT_EQ(unsound, 0u);
  // The report may leave small ones out; it adds none.
  EXPECT_EQ(played.wrongly_reported(), std::vector<std::string>{});
  EXPECT_EQ(hold_against_oracle(played.command, played.judged), "");
}

TEST_P(Litmus, TheAdversarialDriverTellsEveryNeededOne) {
  const Matrix& played = matrix(GetParam());
  ASSERT_EQ(played.judged.trouble, "");
  EXPECT_EQ(played.untold(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(, Litmus, testing::Values("--no-host-functions", "--host-functions"));

}  // namespace
}  // namespace diogenes::oracle
