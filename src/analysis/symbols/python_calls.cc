#include "analysis/symbols/python_calls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace diogenes {
namespace {

using std::string_view;

struct Name {
  string_view function, call;
};

// Python's operators, as PyTorch's extension module names them.
constexpr std::array kTorchOperators = {
    Name{"getitem", "tensor[...]"},        Name{"setitem", "tensor[...] ="},
    Name{"is_nonzero", "bool(tensor)"},    Name{"bool_scalar", "bool(tensor)"},
    Name{"float_scalar", "float(tensor)"}, Name{"integral_scalar", "int(tensor)"},
    Name{"index_scalar", "int(tensor)"},   Name{"complex_scalar", "complex(tensor)"},
    Name{"length", "len(tensor)"},         Name{"contains", "in tensor"},
    Name{"pynew", "torch.Tensor()"},
};

// Of torch, not of a tensor.
constexpr std::array<string_view, 20> kTorchFunctions = {
    "tensor",  "as_tensor", "asarray",    "arange", "full",     "zeros",     "ones",
    "empty",   "rand",      "randn",      "cat",    "stack",    "where",     "multinomial",
    "randint", "randperm",  "from_numpy", "range",  "linspace", "frombuffer"};

constexpr std::array kDunders = {
    Name{"__getitem__", "{}[...]"},
    Name{"__setitem__", "{}[...] ="},
    Name{"__nonzero__", "bool({})"},
    Name{"__bool__", "bool({})"},
    Name{"__int__", "int({})"},
    Name{"__float__", "float({})"},
    Name{"__index__", "int({})"},
    Name{"__complex__", "complex({})"},
    Name{"__array__", "numpy.asarray({})"},
    Name{"__iter__", "for ... in {}"},
    Name{"__repr__", "print({})"},
    Name{"__str__", "print({})"},
    Name{"__format__", "format({})"},
    Name{"__len__", "len({})"},
};

// Functions that only call another one. What they are called is all that tells them.
constexpr std::array<string_view, 11> kWrappers = {"Module._wrapped_call_impl",
                                                   "Module._call_impl",
                                                   "decorate_context",
                                                   "wrapper",
                                                   "wrapped",
                                                   "inner",
                                                   "_fn",
                                                   "_use_grad",
                                                   "reraise_with_filtered_traceback",
                                                   "cache_miss",
                                                   "wrapper_set_seed"};

bool is_wrapper(const ReportFrame& frame) {
  if (frame.language != "python") return false;
  const string_view name =
      string_view(frame.function)
          .substr(frame.function.rfind(">.") == std::string::npos ? 0 : frame.function.rfind(">.") + 2);
  return std::find(kWrappers.begin(), kWrappers.end(), name) != kWrappers.end();
}

std::string of_object(string_view object, string_view method) {
  for (const Name& known : kDunders)
    if (known.function == method) {
      std::string call(known.call);
      return call.replace(call.find("{}"), 2, object);
    }
  return std::string(object) + "." + std::string(method) + "()";
}

std::string torch_call(string_view function) {
  if (function.empty()) return "";
  for (const Name& known : kTorchOperators)
    if (known.function == function) return std::string(known.call);
  constexpr string_view kLinalg = "linalg_";
  if (function.starts_with(kLinalg))
    return "torch.linalg." + std::string(function.substr(kLinalg.size())) + "()";
  const bool of_torch =
      std::find(kTorchFunctions.begin(), kTorchFunctions.end(), function) != kTorchFunctions.end();
  return (of_torch ? "torch." : "tensor.") + std::string(function) + "()";
}

// Cython writes the length before each part of a name: 4cupy_5_core_4core_13_ndarray_base_235get, where the function's own part
// has its number in the module in place of a length. The last two parts: what it belongs to, and the function.
std::pair<std::string, std::string> parts_of_cython(string_view mangled) {
  std::string owner;
  for (;;) {
    size_t digits = 0, length = 0;
    while (digits < mangled.size() && digits < 4 && std::isdigit(static_cast<unsigned char>(mangled[digits])))
      length = 10 * length + static_cast<size_t>(mangled[digits++] - '0');
    if (digits == 0) return {owner, std::string(mangled)};
    const string_view rest = mangled.substr(digits);
    if (length == 0 || rest.size() <= length || rest[length] != '_') return {owner, std::string(rest)};
    owner = std::string(rest.substr(0, length));
    mangled = rest.substr(length + 1);
  }
}

std::string cython_call(string_view mangled) {
  auto [owner, function] = parts_of_cython(mangled);
  if (function.empty()) return "";
  if (owner.starts_with("_")) owner.erase(0, 1);
  if (owner.ends_with("_base")) owner.resize(owner.size() - 5);
  if (owner == "core" || owner.empty()) return "cupy." + function + "()";
  return of_object(owner, function);
}

// "torch.cuda" of the package file of torch/cuda; private folders are cut off: "jax" of the file "api" in its "_src".
std::string module_of(const std::string& file) {
  size_t begin = std::string::npos;
  for (string_view packages : {"/site-packages/", "/dist-packages/"})
    if (const size_t at = file.rfind(packages); at != std::string::npos) begin = at + packages.size();
  if (begin == std::string::npos) return "";
  std::string module;
  for (size_t end; begin < file.size(); begin = end + 1) {
    end = std::min(file.find('/', begin), file.size());
    std::string part = file.substr(begin, end - begin);
    if (end == file.size() && part.ends_with(".py")) part.resize(part.size() - 3);
    if (part.starts_with("_")) break;
    module += (module.empty() ? "" : ".") + part;
  }
  return module;
}

std::string python_function(const ReportFrame& frame) {
  const std::string& function = frame.function;
  const size_t dot = function.rfind('.');
  if (dot == std::string::npos) {
    const std::string module = module_of(frame.file);
    return (module.empty() ? function : module + "." + function) + "()";
  }
  const string_view owner = string_view(function).substr(0, dot),
                    method = string_view(function).substr(dot + 1);
  if (owner == "ArrayImpl") return of_object("array", method);  // JAX
  if (owner == "Tensor") return of_object("tensor", method);    // PyTorch's methods that are Python
  return of_object(owner, method);
}

constexpr string_view kTorch = "torch::autograd::THPVariable_";
constexpr std::array<string_view, 3> kCython = {"__pyx_pw_", "__pyx_pf_", "__pyx_f_"};

std::string name_of_call(const ReportFrame& frame) {
  if (frame.language == "python") return python_function(frame);
  const string_view function = string_view(frame.function).substr(0, frame.function.find_first_of("(<"));
  if (function.starts_with(kTorch)) return torch_call(function.substr(kTorch.size()));
  for (string_view prefix : kCython)
    if (function.starts_with(prefix)) return cython_call(function.substr(prefix.size()));
  return "";
}

struct CauseName {
  string_view part;
  PythonCause cause;
};
// The first that is found in a frame decides, from the application inwards: what is asked for first is what the user wrote.
constexpr std::array kCauses = {
    CauseName{"nonzero_cuda", PythonCause::mask},
    CauseName{"masked_select", PythonCause::mask},
    CauseName{"indexing_tensor_from_data", PythonCause::list},
    CauseName{"tensor_ctor", PythonCause::list},
    CauseName{"internal_new_from_data", PythonCause::list},
    CauseName{"_local_scalar_dense", PythonCause::number},
    CauseName{"copy_kernel_cuda", PythonCause::copy},
};

PythonCause cause_of(const std::vector<ReportFrame>& stack, const ReportFrame* callee) {
  for (const ReportFrame* frame = callee;; --frame) {
    for (const CauseName& known : kCauses)
      if (frame->function.find(known.part) != std::string::npos) return known.cause;
    if (frame == stack.data()) return PythonCause::other;
  }
}

}  // namespace

const ReportFrame* behind_wrappers(const std::vector<ReportFrame>& stack, const ReportFrame* callee) {
  while (callee != stack.data() && is_wrapper(*callee) && callee[-1].language == "python" &&
         callee[-1].owner == FrameOwner::library)
    --callee;
  return callee;
}

PythonCall python_call(const std::vector<ReportFrame>& stack, const ReportFrame* callee) {
  callee = behind_wrappers(stack, callee);
  PythonCall call{name_of_call(*callee), PythonCause::other};
  if (call.name.empty()) return call;
  call.cause = cause_of(stack, callee);
  if (const size_t dots = call.name.find("[...]"); dots != std::string::npos) {
    const string_view inside = call.cause == PythonCause::mask     ? "mask"
                               : call.cause == PythonCause::number ? "bound"
                               : call.cause == PythonCause::list   ? "list"
                                                                   : "...";
    call.name.replace(dots + 1, 3, inside);
  }
  return call;
}

std::string python_call(const ReportFrame& frame) {
  return frame.owner != FrameOwner::library || is_wrapper(frame) ? "" : name_of_call(frame);
}

}  // namespace diogenes
