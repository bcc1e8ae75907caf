#include "analysis/symbols/frame_owner.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "analysis/symbols/symbols.h"
#include "trace/module_identity.h"

namespace diogenes {
namespace {

using std::string_view;
namespace fs = std::filesystem;

bool any_prefix(string_view text, std::initializer_list<string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](string_view prefix) { return text.starts_with(prefix); });
}

string_view name_of(string_view path) { return path.substr(path.rfind('/') + 1); }

std::string normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

bool is_in(string_view path, string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool system_folder(string_view path) {
  return any_prefix(path, {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/opt/nvidia/", "/nix/store/"}) &&
         !path.starts_with("/usr/src/");
}

// Folders whose content others wrote, wherever they lie.
bool library_folder(string_view name) {
  static constexpr std::array kNames = {
      // header-only libraries and those that are mostly templates
      "thrust", "cub", "cusp", "libcudacxx", "cccl", "cutlass", "cute", "moderngpu", "rmm", "raft", "Kokkos",
      "kokkos", "kokkos-kernels", "RAJA", "AMReX", "amrex", "Eigen", "eigen", "eigen3", "boost", "stdgpu",
      "hipcub", "rocprim", "pybind11", "nanobind", "nlohmann", "fmt", "spdlog",
      // where projects keep what others wrote
      "third_party", "third-party", "thirdparty", "3rdparty", "3rd_party", "external", "externals", "vendor",
      "_deps", "node_modules",
      // Python
      "site-packages", "dist-packages"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool in_library_folder(string_view path) {
  for (size_t begin = 0, slash; (slash = path.find('/', begin)) != string_view::npos; begin = slash + 1)
    if (library_folder(path.substr(begin, slash - begin))) return true;
  return false;
}

// CUDA's own headers: .../cuda-13.0/targets/x86_64-linux/include/, .../cuda/include/.
bool cuda_header(string_view path) {
  const size_t cuda = path.find("/cuda");
  return (cuda != string_view::npos && path.find("/include/", cuda) != string_view::npos) ||
         path.find("/targets/x86_64-linux/include/") != string_view::npos;
}

bool runtime_module(string_view path) {
  string_view name = name_of(path);
  return any_prefix(name, {"libc.so", "libc-", "libpthread", "libm.so", "libdl.so", "librt.so", "ld-linux",
                           "libgcc_s", "libstdc++", "libc++", "libcuda.so", "libcudart", "linux-vdso",
                           "libdiogenes"}) ||
         path.starts_with("[");
}

// nvcc writes host stubs of templates into files of its own.
bool generated_file(string_view file) {
  return file.find("cudafe") != string_view::npos || name_of(file).starts_with("tmpxft_");
}

// What nvcc makes of `kernel<<<...>>>`, below the kernel's own name.
bool is_kernel_stub(string_view function) {
  return any_prefix(function, {"__device_stub_", "__wrapper__device_stub_"});
}

// The runtime's functions, where they are part of the program: C names, which C++ functions do not have.
bool runtime_function(string_view function) {
  if (is_kernel_stub(function)) return true;
  if (function.find_first_of("(:<") != string_view::npos) return false;
  if (any_prefix(function, {"__cuda", "__libc_", "_start", "__nv_", "cudart", "libcudart_static_", "__GI_"}))
    return true;
  for (string_view prefix : {"cuda", "cu"})
    if (function.starts_with(prefix) && function.size() > prefix.size() &&
        std::isupper(static_cast<unsigned char>(function[prefix.size()])))
      return true;
  return false;
}

bool library_function(const std::string& function) {
  return any_prefix(Symbolizer::base_name(function),
                    {"std::", "__gnu_cxx::", "thrust::", "cub::", "cusp::", "cuda::", "nvcuda::", "Kokkos::",
                     "amrex::", "Eigen::", "boost::"});
}

bool python_standard(string_view file) {
  if (file.starts_with("<frozen")) return true;
  const size_t lib = file.find("/lib/python");
  if (lib == string_view::npos) return false;
  const size_t version = lib + 11;  // behind "/lib/python"
  return version < file.size() && std::isdigit(static_cast<unsigned char>(file[version]));
}

// 0: not in any of them; else the length of the longest folder that holds the path.
size_t holds(const std::vector<std::string>& folders, const std::string& path) {
  size_t longest = 0;
  for (const std::string& folder : folders)
    if (!path.empty() && is_in(path, normal(folder))) longest = std::max(longest, folder.size());
  return longest;
}

// The checkout or build folder that a program lies in, as long as it is there to be seen; "" if there is none.
std::string project_folder(const fs::path& folder) {
  fs::path around = folder;
  for (int level = 0; level < 4 && around.has_relative_path(); ++level, around = around.parent_path()) {
    std::error_code ignored;
    if (fs::exists(around / "CMakeCache.txt", ignored) || fs::exists(around / ".git", ignored))
      return around.string();
  }
  return "";
}

// Namespaces in which libraries keep their versions apart: THRUST_300001_SM_900_NS, __4, __cxx11.
bool is_version(string_view part) {
  if (part.starts_with("__")) return true;
  const size_t digits = part.find_first_of("0123456789");
  return digits != string_view::npos && digits > 0 && part[digits - 1] == '_' && part.ends_with("_NS");
}

std::string without_versions(const std::string& name) {
  std::string result;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = name.find("::", begin);
    const string_view part = string_view(name).substr(begin, end - begin);
    const bool last = end == std::string::npos;
    if (begin == 0 || last || !is_version(part)) result += std::string(part) + (last ? "" : "::");
    if (last) break;
    begin = end + 2;
  }
  return result;
}

}  // namespace

FrameOwners::FrameOwners(const std::string& program, OwnerChoices choices)
    : program_(normal(program)), choices_(std::move(choices)) {
  const fs::path folder = fs::path(program_).parent_path();
  if (folder.empty() || system_folder(program_)) return;
  project_ = project_folder(folder);
  for (const char* beside : {"", "lib", "lib64", "../lib", "../lib64"}) {
    fs::path path = (folder / beside).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    library_folders_.push_back(path.string());
  }
}

bool FrameOwners::is_program(const std::string& module) const { return normal(module) == program_; }

bool FrameOwners::beside_program(const std::string& module) const {
  const std::string path = normal(module);
  if (!project_.empty() && is_in(path, project_)) return true;
  const std::string folder = fs::path(path).parent_path().string();
  return std::find(library_folders_.begin(), library_folders_.end(), folder) != library_folders_.end();
}

FrameOwner FrameOwners::of(const ReportFrame& frame) const {
  const std::string file = normal(frame.file);
  for (const std::string& path : {file, normal(frame.module)}) {
    const size_t own = holds(choices_.own, path), library = holds(choices_.library, path);
    if (own != library) return own > library ? FrameOwner::application : FrameOwner::library;
  }
  if (frame.language == "python") {
    if (in_library_folder(file)) return FrameOwner::library;
    return python_standard(file) ? FrameOwner::runtime : FrameOwner::application;
  }
  // CPython's own extension modules (lib-dynload), which lie beside a python that was built in a home folder.
  const bool of_python =
      is_interpreter(frame.module) || (python_standard(frame.module) && !in_library_folder(frame.module));
  if (runtime_module(frame.module) || of_python) return FrameOwner::runtime;
  if (!is_program(frame.module) && (!beside_program(frame.module) || in_library_folder(frame.module)))
    return FrameOwner::library;
  // Code without a file of its own module: generated at run time.
  if (frame.module.empty()) return FrameOwner::library;
  if (!file.empty() && !generated_file(file)) {
    const bool others = system_folder(file) || cuda_header(file) || in_library_folder(file);
    return others ? FrameOwner::library : FrameOwner::application;
  }
  if (runtime_function(frame.function)) return FrameOwner::runtime;
  return library_function(frame.function) ? FrameOwner::library : FrameOwner::application;
}

bool FrameOwners::is_own(const std::string& module) const {
  ReportFrame frame;
  frame.module = module;
  return of(frame) == FrameOwner::application;
}

std::string base_name(const ReportFrame& frame) {
  if (frame.language == "python") return frame.function;
  return without_versions(Symbolizer::base_name(frame.function));
}

void mark_kernel_entries(std::vector<ReportFrame>& stack) {
  for (size_t i = 0; i + 1 < stack.size(); ++i) {
    ReportFrame& entry = stack[i + 1];
    if (!is_kernel_stub(stack[i].function)) continue;
    // What the stub calls is in a header of CUDA's.
    for (size_t inner = 0; inner <= i; ++inner) stack[inner].owner = FrameOwner::runtime;
    if (is_kernel_stub(entry.function)) continue;
    // The stub's name holds the kernel's, mangled.
    std::string name = Symbolizer::base_name(entry.function);
    if (const size_t scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
    if (!name.empty() && stack[i].function.find(name) != std::string::npos) entry.owner = FrameOwner::runtime;
  }
}

const ReportFrame* acting_frame(const std::vector<ReportFrame>& stack) {
  for (FrameOwner owner : {FrameOwner::application, FrameOwner::library})
    for (bool with_line : {true, false})
      for (const ReportFrame& frame : stack)
        if (frame.owner == owner && (frame.line > 0) >= with_line && !(frame.function.empty() && with_line))
          return &frame;
  return stack.empty() ? nullptr : &stack.front();
}

std::optional<ActingPlace> acting_place(const std::vector<ReportFrame>& stack) {
  const ReportFrame* frame = acting_frame(stack);
  if (!frame || frame->owner != FrameOwner::application) return std::nullopt;
  if (frame->line > 0) return ActingPlace{frame->file, static_cast<uint64_t>(frame->line)};
  return ActingPlace{frame->module, frame->offset};
}

bool made_at_line_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& line_of) {
  const ReportFrame* acting = acting_frame(call);
  if (!acting || acting->owner != FrameOwner::application || acting->line <= 0) return false;
  for (const ReportFrame* inner = call.data(); inner != acting; ++inner)
    if (inner->language == "python") return false;
  return std::any_of(line_of.begin(), line_of.end(), [acting](const ReportFrame& frame) {
    return frame.owner == FrameOwner::application && frame.line == acting->line && frame.file == acting->file;
  });
}

namespace {

// Is `call` made below `function`, a frame of `other`, where all frames around it are the same?
bool made_below(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& other,
                const ReportFrame* function) {
  const auto outer = static_cast<size_t>(&other.back() - function);  // frames around it
  if (call.size() <= outer) return false;
  const auto same_place = [](const ReportFrame& a, const ReportFrame& b) {
    return a.line == b.line && a.column == b.column && a.offset == b.offset && a.file == b.file &&
           a.function == b.function;
  };
  if (!std::equal(call.rbegin(), call.rbegin() + static_cast<ptrdiff_t>(outer), other.rbegin(), same_place))
    return false;
  const ReportFrame& its = call[call.size() - 1 - outer];
  return its.function == function->function && its.file == function->file;
}

}  // namespace

bool made_in_function_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& line_of) {
  const ReportFrame* acting = acting_frame(line_of);
  return acting && acting->owner == FrameOwner::application && acting->line > 0 &&
         made_below(call, line_of, acting);
}

namespace {

// The library's frame that `acting` calls; null where it calls none.
const ReportFrame* library_callee(const std::vector<ReportFrame>& stack, const ReportFrame* acting) {
  if (!acting || acting->owner != FrameOwner::application || acting == &stack.front()) return nullptr;
  const ReportFrame* callee = acting - 1;
  return callee->owner == FrameOwner::library ? callee : nullptr;
}

std::string function_or_file(const ReportFrame& frame) {
  return frame.function.empty() ? std::string(name_of(frame.module)) : base_name(frame);
}

// torch.cuda.synchronize, amrex::Gpu::streamSynchronize, block_until_ready of JAX, Kokkos::fence
bool is_there_to_wait(string_view function) {
  const size_t last = function.find_last_of(":.");
  const string_view name = last == string_view::npos ? function : function.substr(last + 1);
  std::string lower;
  for (unsigned char c : name) lower += static_cast<char>(std::tolower(c));
  return lower.find("synchroni") != std::string::npos || lower.starts_with("block_until") ||
         function.ends_with("::fence");
}

// Methods of tensors and modules that have the parameter non_blocking.
bool is_copy_of_torch(const ReportFrame& callee, const std::string& name) {
  if (callee.language == "python") return name == "to" && callee.file.find("/torch/nn/") != std::string::npos;
  static constexpr std::array kNames = {"torch::autograd::THPVariable_cuda",
                                        "torch::autograd::THPVariable_to",
                                        "torch::autograd::THPVariable_copy_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

PythonCall called_python(const std::vector<ReportFrame>& stack) {
  const ReportFrame* callee = library_callee(stack, acting_frame(stack));
  return callee ? python_call(stack, callee) : PythonCall{};
}

const ReportFrame* library_part(const std::vector<ReportFrame>& stack) {
  const ReportFrame* callee = library_callee(stack, acting_frame(stack));
  if (!callee) return nullptr;
  const auto innermost = std::find_if(stack.begin(), stack.end(),
                                      [](const ReportFrame& frame) { return frame.language == "python"; });
  const ReportFrame* part = innermost == stack.end() ? nullptr : &*innermost;
  return part && part < behind_wrappers(stack, callee) ? part : nullptr;
}

bool made_in_part_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& wait) {
  const ReportFrame* part = library_part(wait);
  return part && made_below(call, wait, part);
}

std::string called_library(const std::vector<ReportFrame>& stack) {
  const ReportFrame* callee = library_callee(stack, acting_frame(stack));
  if (callee)
    if (std::string call = python_call(stack, callee).name; !call.empty()) return call;
  return callee && !callee->function.empty() ? base_name(*callee) : "";
}

std::optional<LibraryWait> library_wait(const std::vector<ReportFrame>& stack) {
  const ReportFrame* acting = acting_frame(stack);
  if (acting && acting->owner == FrameOwner::library) {
    // Nothing of the application's is there: of the library's, the function that has it wait.
    for (const ReportFrame* frame = acting; frame <= &stack.back(); ++frame)
      if (frame->owner == FrameOwner::library && !is_there_to_wait(function_or_file(*frame)))
        return LibraryWait{function_or_file(*frame)};
    return LibraryWait{function_or_file(*acting)};
  }
  const ReportFrame* callee = library_callee(stack, acting);
  if (!callee) return std::nullopt;
  const std::string name = function_or_file(*callee);
  if (is_there_to_wait(name)) return std::nullopt;
  const std::string call = python_call(stack, callee).name;
  return LibraryWait{call.empty() ? name : call, is_copy_of_torch(*callee, name)};
}

}  // namespace diogenes
