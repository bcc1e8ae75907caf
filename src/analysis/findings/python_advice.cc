#include "analysis/findings/python_advice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/symbols/frame_owner.h"

namespace diogenes {
namespace {

using std::string_view;

constexpr const char* kValue =
    "keep the value on the GPU and add it up there, and read it every n-th step; or copy it with non_blocking=True "
    "into pinned "
    "memory, record an event, and read it one step later";
constexpr const char* kBranch =
    "choose on the GPU (torch.where, masked_fill_, multiply by the condition) instead of in an if; or look only every "
    "n-th step";
constexpr const char* kMask =
    "keep the size fixed: torch.where(mask, a, b), or multiply by the mask; turn a mask that does not change into "
    "indices once (mask.nonzero() before the loop)";
constexpr const char* kSetMask =
    "write with torch.where(mask, value, tensor) or masked_fill_, which need no count of the mask";
constexpr const char* kBound =
    "keep sizes and bounds as Python numbers: a tensor in their place is read back; or compare with torch.arange on "
    "the GPU";
constexpr const char* kList =
    "make this tensor once, outside the loop (or on the GPU: torch.full, zeros, arange with device=): each time it is "
    "made on the "
    "CPU and sent";
constexpr const char* kSend =
    "pin the memory (pin_memory(), or pin_memory=True of the DataLoader), and pass non_blocking=True";
constexpr const char* kFetch =
    "bring many back at once (cupy.stack, then one get()); or call get(out=pinned, blocking=False), record an event, "
    "and read it later";
constexpr const char* kStepBefore =
    "read the value one step later: call copy_to_host_async() as soon as you have it";

struct Known {
  string_view call;
  const char* advice;
};
// By the call's name; the first that it begins with.
constexpr std::array kCalls = {
    Known{"tensor.item", kValue},
    Known{"float(tensor", kValue},
    Known{"int(tensor", kValue},
    Known{"tensor.tolist", kValue},
    Known{"tensor.cpu", kValue},
    Known{"tensor.numpy", kValue},
    Known{"print(", kValue},
    Known{"format(tensor", kValue},
    Known{"bool(tensor", kBranch},
    Known{"tensor.equal", kBranch},
    Known{"tensor[mask] =", kSetMask},
    Known{"tensor[mask]", kMask},
    Known{"tensor.masked_select", kMask},
    Known{"tensor.nonzero",
          "use torch.nonzero_static(size=n) if n is known; or work with the mask itself (torch.where)"},
    Known{"tensor.argwhere", kMask},
    Known{"tensor.unique", "the size of the result is read back: make the call once, or in fewer steps"},
    Known{"tensor.repeat_interleave", "pass output_size=, so that the size need not be read back"},
    Known{"tensor[bound]", kBound},
    Known{"tensor[list]", kList},
    Known{"torch.tensor", kList},
    Known{"torch.as_tensor", kList},
    Known{"torch.asarray", kList},
    Known{"tensor.to", kSend},
    Known{"tensor.cuda", kSend},
    Known{"tensor.copy_", kSend},
    Known{"Module.to", kSend},
    Known{
        "torch.cuda.memory.empty_cache",
        "leave it out of the loop: it releases memory, each release waits, and the next step allocates again"},
    Known{"torch.cuda.synchronize",
          "leave it out of the loop; to time the GPU, record events and read them at the end"},
    Known{"torch.nn.utils.clip_grad", "pass error_if_nonfinite=False: then nothing is read back"},
    Known{"torch.linalg", "use the _ex form with check_errors=False (inv_ex, cholesky_ex, solve_ex)"},
    Known{"tensor.inverse", "use torch.linalg.inv_ex with check_errors=False"},
    Known{"ndarray.get", kFetch},
    Known{"cupy.asnumpy", kFetch},
    Known{"ndarray.item", kFetch},
    Known{"ndarray.tolist", kFetch},
    Known{"int(ndarray", kFetch},
    Known{"float(ndarray", kFetch},
    Known{"bool(ndarray", "choose on the GPU (cupy.where) instead of in an if; or look only every n-th step"},
    Known{
        "ndarray[",
        "use cupy.where(mask, a, b), which keeps the size; turn a mask that does not change into indices once"},
    Known{"jax.device_get", kStepBefore},
    Known{"float(array", kStepBefore},
    Known{"int(array", kStepBefore},
    Known{"bool(array", kStepBefore},
    Known{"numpy.asarray(array", kStepBefore},
    Known{"array.", kStepBefore},
    Known{
        "DeviceNDArray.copy_to_host",
        "keep the data in device arrays (cuda.to_device, cuda.device_array outside the loop), and copy what is needed "
        "at the end"},
};

const char* of_call(string_view name) {
  const auto known = std::find_if(kCalls.begin(), kCalls.end(),
                                  [&](const Known& one) { return name.starts_with(one.call); });
  return known == kCalls.end() ? nullptr : known->advice;
}

bool inside(const std::vector<ReportFrame>& stack, string_view folder) {
  return std::any_of(stack.begin(), stack.end(), [&](const ReportFrame& frame) {
    return frame.language == "python" && frame.owner == FrameOwner::library &&
           frame.file.find(folder) != std::string::npos;
  });
}

// A library's own Python code makes the call.
std::string of_library(const std::vector<ReportFrame>& stack, PythonCause cause) {
  if (inside(stack, "/torch/distributions/"))
    return "pass validate_args=False: then the arguments are not checked";
  if (inside(stack, "/torch/optim/"))
    return "use an optimizer that keeps its steps and checks on the GPU: fused=True, or capturable=True";
  if (inside(stack, "/torch/amp/"))
    return "use an optimizer with fused=True, which reads the scaler's check on the GPU";
  if (inside(stack, "/transformers/generation/"))
    return "use a static cache with compiled decoding, or check the stopping criterion only every n-th token";
  if (inside(stack, "/lightning/") || inside(stack, "/pytorch_lightning/"))
    return "call self.log without prog_bar=True, and only every n-th step; keep metrics on the GPU";
  switch (cause) {
    case PythonCause::mask:
      return "avoid masks here, whose elements must be counted; or do that part once, before the loop";
    case PythonCause::number:
      return "pass numbers where it reads tensors back, or call it less often";
    default:
      return "";
  }
}

PartOfCall part_of(const std::vector<ReportFrame>& stack, const ReportFrame& part, PythonCause cause) {
  if (inside(stack, "/torch/distributions/")) {
    const std::string name = base_name(part);
    const bool checks = part.file.ends_with("/constraints.py") || name.ends_with("_validate_sample") ||
                        (name.ends_with("__init__") && part.file.ends_with("/distribution.py"));
    return checks ? PartOfCall::left_out : PartOfCall::none;
  }
  return cause == PythonCause::mask ? PartOfCall::done_once : PartOfCall::none;
}

}  // namespace

PythonAdvice advice_where_it_waits(const std::vector<ReportFrame>& stack) {
  const PythonCall call = called_python(stack);
  if (call.name.empty()) return {};
  if (const char* advice = of_call(call.name))
    return {advice, advice != kValue && advice != kFetch && advice != kStepBefore};
  PythonAdvice advice{of_library(stack, call.cause), true};
  const ReportFrame* part = library_part(stack);
  if (!part || advice.text.empty()) return advice;
  advice.part = part_of(stack, *part, call.cause);
  if (advice.part != PartOfCall::none) advice.part_name = base_name(*part) + "()";
  return advice;
}

std::string advice_where_nothing_needs_it(const std::vector<ReportFrame>& stack) {
  const PythonCall call = called_python(stack);
  if (call.name.empty()) return "";
  // A copy of a number or of an index tensor, whose wait comes from its being on the CPU.
  if (call.cause == PythonCause::list) return kList;
  if (call.cause == PythonCause::copy && call.name.starts_with("tensor["))
    return "use values and indices that are on the GPU already: those on the CPU are sent each time";
  if (const char* advice = of_call(call.name)) return advice;
  return call.cause == PythonCause::copy ? kSend : of_library(stack, call.cause);
}

}  // namespace diogenes
