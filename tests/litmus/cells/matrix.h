// The litmus matrix, judged: each cell's verdict beside the table's truth (cells.def). In: the program
// `litmus`, a driver. Out: a result for each cell, and what was wrong with the whole. For litmus_test, and
// for `verdicts`, which runs where no test framework is.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "oracle.h"

namespace diogenes::oracle {

struct Cell {
  std::string name, reason, function;
  char truth = 0;
  uint64_t frame = 0;
};

// What a cell may need of the machine.
struct Machine {
  bool watchpoints = false;         // perf_event_open gives hardware ones
  bool concurrent_managed = false;  // the CPU may touch managed memory while the GPU works
  bool pageable_memory_access =
      false;  // the GPU reads pageable memory by the CPU's page tables: never guarded
  int devices = 0;
};
Machine this_machine();  // asks the driver that is used

// N, U or M, as the tool has it, of a site that waited.
char verdict_of(const SiteVerdict& site);

enum class CellState : uint8_t {
  right,
  wrong,    // another verdict than the table's
  unsound,  // ... and one that calls a needed synchronization unnecessary
  skipped   // the machine lacks what it needs
};

struct CellResult {
  const Cell* cell = nullptr;
  const SiteVerdict* site = nullptr;  // null: not one site of the tested function, or not played
  char expected = 0, called = 0;      // N, U, M or I (did not wait); 0: not called anything
  CellState state = CellState::wrong;
  std::string text;  // why, where it is not right
};

struct Matrix {
  std::vector<std::string> command;
  std::vector<Cell> cells;
  std::map<uint64_t, const Cell*> by_frame;
  Judged judged;
  std::map<const Cell*, std::vector<const SiteVerdict*>> tested;
  std::set<const Cell*> idle;  // whose tested calls did not wait
  Machine machine;

  // `part`: an argument of `litmus`: --host-functions, --no-host-functions, or the beginning of cells' names.
  explicit Matrix(const std::string& part);
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  const Cell* cell_of(const SiteVerdict& site) const;
  std::vector<CellResult> results() const;
  bool keeps_the_copys_wait(const Cell& cell) const;
  // Cells that the report calls unnecessary against their truth.
  std::vector<std::string> wrongly_reported() const;
  // The oracle's own test: without its wait, what a needed cell prints is wrong. Otherwise the matrix proved
  // nothing. Names those that the adversarial driver does not tell, and others that it breaks.
  std::vector<std::string> untold() const;
};

// Does the present tool count it as needed (or keep an earlier wait) though its truth is another?
inline bool is_cautious(char truth) { return truth == 'u' || truth == 'm' || truth == 'n'; }

}  // namespace diogenes::oracle
