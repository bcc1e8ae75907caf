#include "analysis/symbols/python_calls.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

ReportFrame native(const char* function) {
  ReportFrame frame;
  frame.function = function;
  frame.owner = FrameOwner::library;
  return frame;
}

ReportFrame python(const char* function, const char* file) {
  ReportFrame frame = native(function);
  frame.language = "python";
  frame.file = file;
  return frame;
}

std::string name(const ReportFrame& callee, const ReportFrame& inside = native("cudaStreamSynchronize")) {
  const std::vector<ReportFrame> stack{inside, callee};
  return python_call(stack, &stack[1]).name;
}

TEST(PythonCalls, AreNamedAsTheUserWroteThem) {
  EXPECT_EQ(name(native("torch::autograd::THPVariable_item(_object*, _object*)")), "tensor.item()");
  EXPECT_EQ(name(native("torch::autograd::THPVariable_float_scalar(_object*, _object*)")), "float(tensor)");
  EXPECT_EQ(name(native("torch::autograd::THPVariable_is_nonzero(_object*, _object*)")), "bool(tensor)");
  EXPECT_EQ(name(native("torch::autograd::THPVariable_tensor(_object*)")), "torch.tensor()");
  EXPECT_EQ(name(native("__pyx_pw_4cupy_5_core_4core_13_ndarray_base_235get(_object*, long)")),
            "ndarray.get()");
  EXPECT_EQ(name(native("__pyx_pw_4cupy_5_core_4core_13_ndarray_base_115__nonzero__")), "bool(ndarray)");
  EXPECT_EQ(name(native("__pyx_pw_4cupy_4cuda_6device_6Device_15synchronize")), "Device.synchronize()");
  EXPECT_EQ(name(python("synchronize", "/v/lib/python3.12/site-packages/torch/cuda/__init__.py")),
            "torch.cuda.synchronize()");
  EXPECT_EQ(name(python("device_get", "/v/site-packages/jax/_src/api.py")), "jax.device_get()");
  EXPECT_EQ(name(python("ArrayImpl.__float__", "/v/site-packages/jax/_src/array.py")), "float(array)");
  EXPECT_EQ(name(python("Module.to", "/v/site-packages/torch/nn/modules/module.py")), "Module.to()");
  EXPECT_EQ(name(python("log", "/home/me/tool.py")), "log()");
  EXPECT_EQ(name(native("torch::autograd::THPVariable_linalg_inv(_object*, _object*)")),
            "torch.linalg.inv()");
  EXPECT_EQ(name(python("Tensor.unique", "/v/site-packages/torch/_tensor.py")), "tensor.unique()");
  EXPECT_EQ(name(python("Tensor.__format__", "/v/site-packages/torch/_tensor.py")), "format(tensor)");
  EXPECT_EQ(name(native("thrust::reduce_by_key(int)")), "");
}

TEST(PythonCalls, SayWhatAboutAnIndexWaits) {
  const ReportFrame get = native("torch::autograd::THPVariable_getitem(_object*, _object*)"),
                    set = native("torch::autograd::THPVariable_setitem(_object*, _object*, _object*)");
  EXPECT_EQ(name(get, native("at::native::nonzero_cuda(at::Tensor const&)")), "tensor[mask]");
  EXPECT_EQ(name(set, native("at::native::nonzero_cuda(at::Tensor const&)")), "tensor[mask] =");
  EXPECT_EQ(name(set, native("at::native::_local_scalar_dense_cuda(at::Tensor const&)")), "tensor[bound] =");
  EXPECT_EQ(name(get, native("torch::utils::indexing_tensor_from_data(c10::TensorOptions)")), "tensor[list]");
  EXPECT_EQ(name(get), "tensor[...]");
}

TEST(PythonCalls, LookBehindWrappers) {
  const char* module = "/v/site-packages/torch/nn/modules/module.py";
  const std::vector<ReportFrame> stack{
      native("at::native::nonzero_cuda"),
      python("GATConv.forward", "/v/site-packages/torch_geometric/nn/conv/gat_conv.py"),
      python("Module._call_impl", module), python("Module._wrapped_call_impl", module)};
  const PythonCall call = python_call(stack, &stack[3]);
  EXPECT_EQ(call.name, "GATConv.forward()");
  EXPECT_EQ(call.cause, PythonCause::mask);
  // Nothing of Python's is behind it.
  const std::vector<ReportFrame> alone{native("cudaFree"), python("Module._call_impl", module)};
  EXPECT_EQ(python_call(alone, &alone[1]).name, "Module._call_impl()");
}

// Names that only look like Cython's.
TEST(PythonCalls, OfOneFrameAreThoseOfLibraries) {
  EXPECT_EQ(python_call(native("torch::autograd::THPVariable_logsumexp(_object*, _object*)")),
            "tensor.logsumexp()");
  EXPECT_EQ(python_call(native("cublasSgemm_v2")), "");
  const char* file = "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py";
  EXPECT_EQ(python_call(python("Linear.forward", file)), "Linear.forward()");
  EXPECT_EQ(python_call(python("Module._call_impl", file)), "");
  ReportFrame own = python("Rules.apply", "/home/me/rules.py");
  own.owner = FrameOwner::application;
  EXPECT_EQ(python_call(own), "");
}

TEST(PythonCalls, TakeAnyName) {
  for (const char* odd : {"__pyx_pw_", "__pyx_pw_4", "__pyx_pw_9999cupy", "__pyx_f_0", "__pyx_pf_4cupy_",
                          "__pyx_pw_4cupy_5", "torch::autograd::THPVariable_", "", "(", "<"})
    name(native(odd));
  EXPECT_EQ(name(native("__pyx_pw_4")), "");
  EXPECT_EQ(name(native("__pyx_f_4cupy_5_core_4core_12array")), "cupy.array()");
}

}  // namespace
}  // namespace diogenes
