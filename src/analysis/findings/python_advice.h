// What to write instead of a call of PyTorch, CuPy, JAX or Numba that waits or sends. In: the call (python_calls.h). Out: one
// sentence, or "" where nothing better is known.
// Source: PyTorch's, CuPy's, JAX's and Numba's documentation; that PyTorch's forms do not wait was tried with
// torch.cuda.set_sync_debug_mode (docs/lab/2026-11-28-python-forms-h200.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

enum class AnotherForm : uint8_t { none, waits_too, spares_the_wait };

// Of the library's call, the part that waits (library_part): another form is without it, or it could be done once, before the loop.
enum class PartOfCall : uint8_t { none, left_out, done_once };

struct PythonAdvice {
  std::string text;
  // Another form has no result to wait for, so it does not matter whether many come at once.
  bool spares_the_wait = false;
  PartOfCall part = PartOfCall::none;
  std::string part_name{};  // its function

  AnotherForm form() const {
    if (text.empty()) return AnotherForm::none;
    return spares_the_wait ? AnotherForm::spares_the_wait : AnotherForm::waits_too;
  }
};
// The application uses the result, or the library needs it to go on.
PythonAdvice advice_where_it_waits(const std::vector<ReportFrame>& stack);
// Nobody needs the wait: a form of the call that does not make it.
std::string advice_where_nothing_needs_it(const std::vector<ReportFrame>& stack);

}  // namespace diogenes
