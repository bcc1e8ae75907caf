// The named scenes of the litmus matrix (scenes.def), proven and judged. In: the program `scenes`, a driver.
// Out: which truths the adversarial driver does not bear out; and the tool's verdicts beside the truths.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cells/matrix.h"
#include "oracle.h"

namespace diogenes::oracle {

struct SceneTruth {
  std::string name, function;
  char truth = 0;
  uint64_t begin = 0, end = 0;  // the code of the frame that makes the tested call
};

struct SceneResult {
  const SceneTruth* scene = nullptr;
  const SiteVerdict* site = nullptr;  // null: not one site of the tested call
  char called = 0;                    // N, U, M or I (did not wait); 0: not called anything
  CellState state = CellState::wrong;
  std::string text;  // why, where it is not right
};

struct SceneMatrix {
  std::vector<std::string> command;
  std::vector<SceneTruth> scenes;

  explicit SceneMatrix(const std::string& begins_with = "");

  // No tool takes part in this. Without its tested waits, what a needed or misplaced scene prints is another,
  // and what an unnecessary one prints is the same; the adversarial driver alone changes nothing. Names the
  // scenes of which that is not so.
  std::vector<std::string> untold() const;
  // The tool's verdicts; `judged`: of `command`.
  std::vector<SceneResult> results(const Judged& judged) const;
};

}  // namespace diogenes::oracle
