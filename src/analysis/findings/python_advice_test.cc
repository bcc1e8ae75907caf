#include "analysis/findings/python_advice.h"

#include <gtest/gtest.h>

#include "analysis/findings/fixes.h"

namespace diogenes {
namespace {

ReportFrame frame(const char* function, FrameOwner owner, const char* file = "") {
  ReportFrame frame;
  frame.function = function;
  frame.owner = owner;
  frame.file = file;
  if (*file) frame.language = "python", frame.line = 7;
  return frame;
}

// The user's line calls `callee`, which comes to `inside`.
std::vector<ReportFrame> stack(const char* callee, const char* inside, const char* file = "") {
  return {frame(inside, FrameOwner::library), frame(callee, FrameOwner::library, file),
          frame("train", FrameOwner::application, "/home/me/train.py")};
}

constexpr const char* kGetItem = "torch::autograd::THPVariable_getitem(_object*, _object*)";

bool says(const std::string& advice, const char* words) { return advice.find(words) != std::string::npos; }

TEST(PythonAdvice, NamesTheFormThatDoesNotWait) {
  const auto mask = advice_where_it_waits(stack(kGetItem, "at::native::nonzero_cuda(at::Tensor const&)"));
  EXPECT_TRUE(says(mask.text, "torch.where(mask, a, b)")) << mask.text;
  EXPECT_TRUE(mask.spares_the_wait);
  const auto item =
      advice_where_it_waits(stack("torch::autograd::THPVariable_item(_object*)", "cudaStreamSynchronize"));
  EXPECT_TRUE(says(item.text, "read it every n-th step")) << item.text;
  EXPECT_FALSE(item.spares_the_wait);
  const auto bound = advice_where_it_waits(stack(kGetItem, "at::native::_local_scalar_dense_cuda"));
  EXPECT_TRUE(says(bound.text, "as Python numbers")) << bound.text;
  const auto argument = advice_where_it_waits(stack("Categorical.__init__", "at::native::is_nonzero",
                                                    "/v/site-packages/torch/distributions/categorical.py"));
  EXPECT_TRUE(says(argument.text, "validate_args=False")) << argument.text;
}

// The user's line calls a library's function, which calls another one of Python's.
TEST(PythonAdvice, NamesThePartOfALibrarysCallThatWaits) {
  const auto inner = [](const char* function, const char* file, const char* inside) {
    std::vector<ReportFrame> frames = stack("Layer.forward", inside, "/v/site-packages/layers/layer.py");
    frames.insert(frames.begin() + 1, frame(function, FrameOwner::library, file));
    return frames;
  };
  const auto mask = advice_where_it_waits(inner("remove_loops", "/v/site-packages/layers/loop.py",
                                                "at::native::nonzero_cuda(at::Tensor const&)"));
  EXPECT_EQ(mask.part, PartOfCall::done_once);
  EXPECT_EQ(mask.part_name, "remove_loops()");
  Required required;
  required.count = required.in_parts = 4;
  required.another_form = mask.form();
  required.part = mask.part;
  required.part_name = mask.part_name;
  EXPECT_TRUE(says(required_fix(required, mask), "do what remove_loops() does once, before the loop"));
  required.in_parts = 0;
  required.part = PartOfCall::none;
  EXPECT_TRUE(says(required_fix(required, mask), "avoid masks here"));
  const auto check = advice_where_it_waits(inner("Distribution._validate_sample",
                                                 "/v/site-packages/torch/distributions/distribution.py",
                                                 "at::native::is_nonzero"));
  EXPECT_EQ(check.part, PartOfCall::left_out);
  EXPECT_TRUE(says(required_fix(required, check), "validate_args=False"));
  const auto other = advice_where_it_waits(
      inner("_precision_to_scale_tril", "/v/site-packages/torch/distributions/multivariate_normal.py",
            "at::native::linalg_cholesky"));
  EXPECT_EQ(other.part, PartOfCall::none) << "it is no check of arguments";
  const auto direct = advice_where_it_waits(
      stack("Layer.forward", "at::native::nonzero_cuda", "/v/site-packages/layers/layer.py"));
  EXPECT_EQ(direct.part, PartOfCall::none) << "the user's call itself";
}

TEST(PythonAdvice, KnowsFunctionsByTheFileThatHasThem) {
  const auto cache =
      advice_where_it_waits(stack("empty_cache", "cudaFree", "/v/site-packages/torch/cuda/memory.py"));
  EXPECT_TRUE(says(cache.text, "out of the loop")) << cache.text;
  const auto clip = advice_where_it_waits(
      stack("clip_grad_norm_", "cudaStreamSynchronize", "/v/site-packages/torch/nn/utils/clip_grad.py"));
  EXPECT_TRUE(says(clip.text, "error_if_nonfinite=False")) << clip.text;
  const auto inverse = advice_where_it_waits(
      stack("torch::autograd::THPVariable_linalg_inv(_object*)", "cudaStreamSynchronize"));
  EXPECT_TRUE(says(inverse.text, "check_errors=False")) << inverse.text;
}

TEST(PythonAdvice, WhereNothingNeedsTheWait) {
  EXPECT_TRUE(says(advice_where_nothing_needs_it(stack(kGetItem, "torch::utils::indexing_tensor_from_data")),
                   "make this tensor once"));
  EXPECT_TRUE(says(advice_where_nothing_needs_it(
                       stack("torch::autograd::THPVariable_to(_object*)", "at::native::copy_kernel_cuda")),
                   "non_blocking=True"));
  EXPECT_TRUE(says(advice_where_nothing_needs_it(stack("torch::autograd::THPVariable_setitem(_object*)",
                                                       "at::native::copy_kernel_cuda")),
                   "on the GPU already"));
}

TEST(PythonAdvice, IsNoneOfOtherCalls) {
  EXPECT_EQ(advice_where_nothing_needs_it(stack("thrust::reduce(int*)", "cudaStreamSynchronize")), "");
  EXPECT_EQ(advice_where_it_waits({}).text, "");
  EXPECT_EQ(advice_where_it_waits(stack("log", "cudaFree", "/v/site-packages/tool/log.py")).text, "");
}

// Ten results of 8 bytes, one by one.
Required results() {
  Required required;
  required.count = 10;
  required.in_a_row = 9;
  required.bytes = Bytes{80};
  return required;
}

TEST(RequiredFix, BringsSmallResultsTogether) {
  EXPECT_EQ(required_fix(results(), {}),
            "put the 10 results of 8 bytes side by side on the GPU, and bring them back with one copy");
  EXPECT_EQ(required_fix(results(), {"keep it", false}),
            "put the 10 results of 8 bytes side by side on the GPU, and bring them back with one copy");
  EXPECT_EQ(required_fix(results(), {"use torch.where", true}), "use torch.where");
}

TEST(RequiredFix, GoesByWhatTheLineDoes) {
  Required required = results();
  required.in_a_row = 0;
  EXPECT_TRUE(says(required_fix(required, {}), "bring the result back less often"));
  EXPECT_EQ(required_fix(required, {"keep it", false}), "keep it");
  required.work = Nanoseconds{1000};
  EXPECT_TRUE(says(required_fix(required, {}), "do on the GPU what the CPU does"));
  required.sends = true;
  EXPECT_TRUE(says(required_fix(required, {"keep it", true}), "make this data on the GPU"));
  Required waits;
  waits.count = 1;
  EXPECT_TRUE(says(required_fix(waits, {}), "wait less often"));
}

}  // namespace
}  // namespace diogenes
