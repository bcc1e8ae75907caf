// Calls of Python's libraries, as the user wrote them: "tensor.item()" in place of torch::autograd::THPVariable_item. In: a stack
// with its names, and the library's frame that the application's line calls. Out: the call, and what about it waits or sends.
// Source: the names of PyTorch 2.11's and CuPy's extension modules, as stacks of real runs show them; JAX's and Numba's are
// Python functions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// Why a call of that name waits or sends, told by the functions inside of it.
enum class PythonCause : uint8_t {
  other,
  mask,    // the size of the result has to be known first
  number,  // a tensor is read as a number: a bound, a size, a branch
  list,    // data of Python is made a tensor on the CPU, and sent
  copy,    // from or to the CPU
};

struct PythonCall {
  std::string
      name;  // "tensor[mask]", "ndarray.get()", "torch.cuda.synchronize()"; "": no call of Python's libraries
  PythonCause cause = PythonCause::other;
};

// A wrapper that only calls on (PyTorch's Module._call_impl) is followed to what it calls. `callee`: of `stack`.
const ReportFrame* behind_wrappers(const std::vector<ReportFrame>& stack, const ReportFrame* callee);

// `callee`: of `stack`, what the application's frame calls, or a wrapper of it.
PythonCall python_call(const std::vector<ReportFrame>& stack, const ReportFrame* callee);

// The same of one frame alone: "tensor[...]"; "": it is no function of a Python library, or a wrapper.
std::string python_call(const ReportFrame& frame);

}  // namespace diogenes
