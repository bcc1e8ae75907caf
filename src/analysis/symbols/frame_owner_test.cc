#include "analysis/symbols/frame_owner.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

constexpr const char* kProgram = "/home/u/solver/build/bin/solver";

ReportFrame frame(std::string function, std::string file, int line = 0, std::string module = kProgram) {
  ReportFrame result;
  result.function = std::move(function);
  result.file = std::move(file);
  result.line = line;
  result.module = std::move(module);
  return result;
}

ReportFrame python(std::string function, std::string file, int line) {
  ReportFrame result = frame(std::move(function), std::move(file), line, "");
  result.language = "python";
  return result;
}

FrameOwner owner_of(const ReportFrame& of, OwnerChoices choices = {}) {
  return FrameOwners(kProgram, std::move(choices)).of(of);
}

std::vector<ReportFrame> owned(std::vector<ReportFrame> stack) {
  for (ReportFrame& one : stack) one.owner = owner_of(one);
  return stack;
}

// As gcc and nvcc 13 make them: the kernel's stub, a wrapper of it where the kernel is a template, the function of its name.
TEST(FrameOwner, OfAKernelsLaunchTheCallerActs) {
  std::vector<ReportFrame> stack =
      owned({frame("cudaLaunchKernel", ""),
             frame("__cudaLaunchKernel_helper", "/usr/local/cuda/include/crt/host_runtime.h", 70),
             frame("__device_stub__Z6reduceliiPfS_", "tmpxft_main.cudafe1.stub.c", 1),
             frame("reduce(long, int, int, float*, float*)", "/home/u/solver/reduce.cu", 6),
             frame("main", "/home/u/solver/main.cu", 306)});
  mark_kernel_entries(stack);
  ASSERT_NE(acting_frame(stack), nullptr);
  EXPECT_EQ(acting_frame(stack)->line, 306);
  EXPECT_EQ(called_library(stack), "") << "what the stub calls is no library's";
  stack = owned({frame("__device_stub__Z5forceILi1EEviPf(int, float*)", "main.cudafe1.stub.c", 23),
                 frame("__wrapper__device_stub_force<1>(int&, float*&)", "main.cudafe1.stub.c", 24),
                 frame("void sim::force<1>(int, float*)", "/home/u/solver/force.cu", 40),
                 frame("sim::step()", "/home/u/solver/force.cu", 77)});
  mark_kernel_entries(stack);
  EXPECT_EQ(acting_frame(stack)->line, 77);
  // A function that a stub does not name is the program's.
  stack = owned({frame("__device_stub__Z6reduceliiPfS_", "main.cudafe1.stub.c", 1),
                 frame("main", "/home/u/solver/main.cu", 3)});
  mark_kernel_entries(stack);
  EXPECT_EQ(acting_frame(stack)->line, 3);
}

TEST(FrameOwner, IsToldBySourceFileInTheProgram) {
  EXPECT_EQ(owner_of(frame("main", "/home/u/solver/src/main.cu", 12)), FrameOwner::application);
  EXPECT_EQ(owner_of(frame("step()", "src/step.cu", 3)), FrameOwner::application);
  for (const char* file :
       {"/usr/include/c++/12/bits/stl_algo.h",
        "/usr/local/cuda-13.0/targets/x86_64-linux/include/thrust/sort.h",
        "/opt/cuda/include/cub/device/device_scan.cuh", "/home/u/solver/cusp/krylov/cg.inl",
        "/home/u/solver/third_party/eigen/Eigen/Core", "/home/u/solver/build/_deps/fmt-src/include/format.h"})
    EXPECT_EQ(owner_of(frame("f()", file, 7)), FrameOwner::library) << file;
}

TEST(FrameOwner, IsToldByNameWhereThereIsNoFile) {
  EXPECT_EQ(owner_of(frame("solve(int)", "")), FrameOwner::application);
  EXPECT_EQ(owner_of(frame("", "")), FrameOwner::application);  // stripped
  EXPECT_EQ(owner_of(frame("void thrust::sort<int*>(int*, int*)", "")), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("cub::f()", "/tmp/tmpxft_00001_main.cudafe1.stub.c", 9)), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("cudaFree", "")), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("__cudart642", "")), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("libcudart_static_0a1b2c3d", "")), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("cuFoo(int)", "")), FrameOwner::application);  // a C++ function
  EXPECT_EQ(owner_of(frame("customer", "")), FrameOwner::application);
}

TEST(FrameOwner, IsToldByTheModuleOutsideTheProgram) {
  EXPECT_EQ(owner_of(frame("read", "", 0, "/lib/x86_64-linux-gnu/libc.so.6")), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("x", "../sysdeps/x.c", 3, "/lib/x86_64-linux-gnu/libc.so.6")),
            FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("cudaFree", "", 0, "/usr/local/cuda/lib64/libcudart.so.13")), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("cublasCreate", "", 0, "/usr/local/cuda/lib64/libcublas.so.13")),
            FrameOwner::library);
  EXPECT_EQ(owner_of(frame("x", "/build/x.cc", 3, "/usr/lib/libmpi.so.40")), FrameOwner::library);
  // beside the program
  EXPECT_EQ(owner_of(frame("x", "/home/u/solver/x.cc", 3, "/home/u/solver/build/lib/libcore.so")),
            FrameOwner::application);
  EXPECT_EQ(owner_of(frame("x", "", 0, "/home/u/other/lib/libcore.so")), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("", "", 0, "")), FrameOwner::library);  // generated code
}

TEST(FrameOwner, OfAFileIsThatOfItsCode) {
  const FrameOwners owners(kProgram, {});
  EXPECT_TRUE(owners.is_own(kProgram));
  EXPECT_TRUE(owners.is_own("/home/u/solver/build/lib/libcore.so"));
  EXPECT_FALSE(owners.is_own("/usr/local/cuda/lib64/libcufft.so.12"));
  EXPECT_FALSE(owners.is_own("/home/u/solver/build/venv/site-packages/nvidia/libcusparseLt.so.0"));
  EXPECT_TRUE(
      FrameOwners(kProgram, {{"/usr/local/cuda"}, {}}).is_own("/usr/local/cuda/lib64/libcufft.so.12"));
}

TEST(FrameOwner, OfPythonIsToldByTheFile) {
  EXPECT_EQ(owner_of(python("train", "/home/u/train.py", 3)), FrameOwner::application);
  EXPECT_EQ(owner_of(python("<module>", "<string>", 1)), FrameOwner::application);
  EXPECT_EQ(owner_of(python("backward", "/usr/lib/python3/dist-packages/torch/_tensor.py", 3)),
            FrameOwner::library);
  EXPECT_EQ(owner_of(python("f", "/opt/conda/lib/python3.12/site-packages/cupy/x.py", 3)),
            FrameOwner::library);
  EXPECT_EQ(owner_of(python("run", "/usr/lib/python3.11/threading.py", 3)), FrameOwner::runtime);
  EXPECT_EQ(owner_of(python("_call", "<frozen importlib._bootstrap>", 3)), FrameOwner::runtime);
  EXPECT_EQ(owner_of(frame("_PyEval_EvalFrameDefault", "", 0, "/usr/bin/python3.11")), FrameOwner::runtime);
}

// Debian's python is no neighbour of its modules, a python in a home folder is.
TEST(FrameOwner, PythonsOwnModulesAreTheInterpreters) {
  const FrameOwners owners("/home/u/py/bin/python3.11", {});
  const auto owner = [&](const char* module) {
    return owners.of(frame("f", "/tmp/build/Modules/_ctypes/callproc.c", 923, module));
  };
  EXPECT_EQ(owner("/home/u/py/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so"),
            FrameOwner::runtime);
  EXPECT_EQ(owner("/home/u/py/lib/python3.11/site-packages/cupy/core.cpython-311-x86_64-linux-gnu.so"),
            FrameOwner::library);
}

TEST(FrameOwner, IsWhatTheUserSays) {
  OwnerChoices choices{{"/home/u/solver/third_party/mine/"}, {"/home/u/solver/src/generated"}};
  EXPECT_EQ(owner_of(frame("f", "/home/u/solver/third_party/mine/f.cc", 3), choices),
            FrameOwner::application);
  EXPECT_EQ(owner_of(frame("f", "/home/u/solver/third_party/mineral/f.cc", 3), choices), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("f", "/home/u/solver/src/generated/f.cc", 3), choices), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("f", "", 0, "/opt/x/libx.so"), {{"/opt/x"}, {}}), FrameOwner::application);
  // The longer of two folders decides.
  EXPECT_EQ(owner_of(frame("f", "/a/b/f.cc", 3), {{"/a"}, {"/a/b"}}), FrameOwner::library);
  EXPECT_EQ(owner_of(frame("f", "/a/b/f.cc", 3), {{"/a/b"}, {"/a"}}), FrameOwner::application);
}

TEST(ActingFrame, IsTheInnermostOfTheApplication) {
  auto stack =
      owned({frame("cudaFree", ""), frame("thrust::free()", "/usr/local/cuda/include/thrust/free.h", 90),
             frame("void thrust::sort<int>(int*)", "/usr/local/cuda/include/thrust/sort.h", 40),
             frame("step(int)", "src/step.cu", 7), frame("main", "src/main.cu", 20)});
  ASSERT_NE(acting_frame(stack), nullptr);
  EXPECT_EQ(acting_frame(stack)->line, 7);
  EXPECT_EQ(called_library(stack), "thrust::sort");
  EXPECT_EQ(called_library(owned({frame("cudaFree", ""), frame("main", "src/main.cu", 20)})), "");
}

TEST(BaseName, IsWithoutVersions) {
  EXPECT_EQ(base_name(frame("void thrust::THRUST_300001_SM_750_900_NS::sort<int*>(int*, int*)", "")),
            "thrust::sort");
  EXPECT_EQ(base_name(frame("cub::CUB_200200_900_NS::DeviceScan::f()", "")), "cub::DeviceScan::f");
  EXPECT_EQ(base_name(frame("std::__cxx11::basic_string<char>::append(char const*)", "")),
            "std::basic_string::append");
  EXPECT_EQ(base_name(frame("__gnu_cxx::f()", "")), "__gnu_cxx::f");
  EXPECT_EQ(base_name(frame("app::SOLVER_2::step()", "")), "app::SOLVER_2::step");
  EXPECT_EQ(base_name(frame("", "")), "");
  EXPECT_EQ(base_name(python("<module>", "a.py", 1)), "<module>");
}

// Rows of `rule` in `step`, which is called at two lines.
TEST(MadeInFunction, IsWhatItMakesWhereItIsCalled) {
  const auto made = [](int line, int called_at, const char* function = "rule") {
    return owned(
        {frame("at::item", "", 0, "/usr/lib/libtorch.so"), python(function, "/home/u/solver/a.py", line),
         python("step", "/home/u/solver/a.py", called_at), python("<module>", "/home/u/solver/main.py", 3)});
  };
  const std::vector<ReportFrame> wait = made(12, 40);
  EXPECT_TRUE(made_in_function_of(made(10, 40), wait));
  EXPECT_FALSE(made_in_function_of(made(10, 41), wait)) << "another call of it";
  EXPECT_FALSE(made_in_function_of(made(10, 40, "other"), wait));
  std::vector<ReportFrame> below = made(14, 40);
  below.insert(below.begin(), python("helper", "/home/u/solver/b.py", 2));
  EXPECT_TRUE(made_in_function_of(below, wait));
  EXPECT_FALSE(made_in_function_of({wait.begin() + 2, wait.end()}, wait)) << "its caller";
  EXPECT_FALSE(made_in_function_of({}, wait));
  EXPECT_FALSE(made_in_function_of(wait, {}));
}

// A layer of a library removes loops from what it is given, by a mask.
TEST(LibraryPart, IsWhatTheLibrarysCallDoesInside) {
  const auto made = [](int line, int called_at) {
    return owned({frame("at::nonzero", "", 0, "/usr/lib/libtorch.so"),
                  python("remove_loops", "/v/site-packages/geometric/loop.py", line),
                  python("Conv.forward", "/v/site-packages/geometric/conv.py", called_at),
                  python("Module._call_impl", "/v/site-packages/torch/nn/modules/module.py", 9),
                  python("step", "/home/u/solver/a.py", 40)});
  };
  const std::vector<ReportFrame> wait = made(12, 80);
  ASSERT_NE(library_part(wait), nullptr);
  EXPECT_EQ(base_name(*library_part(wait)), "remove_loops");
  EXPECT_TRUE(made_in_part_of(made(10, 80), wait));
  EXPECT_FALSE(made_in_part_of(made(10, 81), wait)) << "another call of it";
  const std::vector<ReportFrame> layer(wait.begin() + 2, wait.end());
  EXPECT_FALSE(made_in_part_of(layer, wait));
  EXPECT_EQ(library_part(layer), nullptr) << "it is what the application calls";
  EXPECT_FALSE(made_in_part_of(wait, layer));
  EXPECT_EQ(library_part({wait.end() - 1, wait.end()}), nullptr);
  EXPECT_EQ(library_part({}), nullptr);
}

TEST(ActingFrame, WithoutLinesIsAFunctionOfTheApplication) {
  auto stack = owned({frame("x", "x.c", 5, "/lib/x86_64-linux-gnu/libc.so.6"), frame("cudaFree", ""),
                      frame("f()", ""), frame("main", "")});
  EXPECT_EQ(acting_frame(stack)->function, "f()");
  // A linked library without lines is not told from the application; a caller with a line is.
  EXPECT_EQ(acting_frame(owned({frame("f()", ""), frame("main", "main.cc", 3)}))->line, 3);
}

TEST(ActingFrame, WithoutTheApplicationIsTheLibrarys) {
  auto stack = owned({frame("cudaLaunch", "", 0, "/x/libcudart.so.13"),
                      frame("at::item()", "", 0, "/x/libtorch.so"), frame("start", "", 0, "/lib/libc.so.6")});
  EXPECT_EQ(acting_frame(stack)->function, "at::item()");
  EXPECT_EQ(acting_frame({}), nullptr);
  EXPECT_EQ(called_library({}), "");
}

// Frames of PyTorch from the wait to the line that caused it, innermost first.
std::vector<ReportFrame> torch_stack(ReportFrame called) {
  constexpr const char* kTorch = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
  return owned({frame("cudaStreamSynchronize", "", 0, "/opt/cuda/lib64/libcudart.so.12"),
                frame("at::native::copy_kernel_cuda(at::TensorIterator&, bool)", "", 0, kTorch),
                frame("at::native::copy_(at::Tensor&, at::Tensor const&, bool)", "", 0, kTorch),
                std::move(called), python("train", "/home/u/train.py", 12)});
}

TEST(LibraryWait, IsOneInsideALibrarysOwnFunction) {
  constexpr const char* kTorch = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_python.so";
  const auto upload = library_wait(
      torch_stack(frame("torch::autograd::THPVariable_cuda(_object*, _object*)", "", 0, kTorch)));
  ASSERT_TRUE(upload);
  EXPECT_EQ(upload->function, "tensor.cuda()");
  EXPECT_TRUE(upload->copy_of_torch);
  const auto item = library_wait(
      torch_stack(frame("torch::autograd::THPVariable_item(_object*, _object*)", "", 0, kTorch)));
  ASSERT_TRUE(item);
  EXPECT_FALSE(item->copy_of_torch);
  const auto model = library_wait(
      torch_stack(python("to", "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1343)));
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->copy_of_torch);
  const auto reduce = library_wait(
      owned({frame("cudaStreamSynchronize", ""), frame("thrust::cuda_cub::synchronize()", ""),
             frame("thrust::reduce(int*)", ""), frame("main", "/home/u/solver/src/main.cu", 12)}));
  ASSERT_TRUE(reduce);
  EXPECT_EQ(reduce->function, "thrust::reduce");
}

TEST(LibraryWait, IsNoneWhereTheApplicationAsksForIt) {
  EXPECT_FALSE(
      library_wait(owned({frame("cudaStreamSynchronize", ""), frame("main", "/home/u/main.cu", 12)})));
  EXPECT_FALSE(library_wait(torch_stack(
      python("synchronize", "/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py", 1))));
  EXPECT_FALSE(library_wait(owned({frame("cudaDeviceSynchronize", ""), frame("Kokkos::fence()", ""),
                                   frame("main", "/home/u/solver/src/main.cu", 12)})));
  EXPECT_FALSE(library_wait({}));
}

TEST(LibraryWait, WithoutTheApplicationIsTheLibrarys) {
  constexpr const char* kFft = "/usr/lib/libfft.so";
  const ReportFrame runtime = frame("cudaStreamSynchronize", "", 0, "/opt/cuda/lib64/libcudart.so.12");
  const auto wait = library_wait(
      owned({runtime, frame("fft::synchronize()", "", 0, kFft), frame("fft::plan(int)", "", 0, kFft)}));
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->function, "fft::plan");
  const auto no_name =
      library_wait(owned({runtime, frame("", "", 0, kFft), frame("main", "/home/u/solver/src/main.cu", 12)}));
  ASSERT_TRUE(no_name);
  EXPECT_EQ(no_name->function, "libfft.so");
}

}  // namespace
}  // namespace diogenes
