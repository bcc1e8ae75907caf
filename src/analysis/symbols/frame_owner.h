// Whose code a frame is. The frame to act on is the innermost of the application: a user changes his own call, not
// the library below it. In: a frame with its names (symbols.h), and where the program lies. Out: the owner.
// Source of the rules: the places where compilers, package managers and build systems put what others wrote.
//   runtime      libc, the dynamic linker, libcuda, libcudart (static, too), an interpreter
//   library      system include folders and CUDA's headers; header-only libraries beside the application, by the
//                folder's name; shared objects outside of the program's own folder; Python's packages
//   application  all else
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/symbols/python_calls.h"
#include "trace/session.h"

namespace diogenes {

class FrameOwners {
 public:
  // `program`: the file that runs, with its path. `choices` go before the rules; of two folders that hold a file,
  // the longer path decides.
  FrameOwners(const std::string& program, OwnerChoices choices);

  FrameOwner of(const ReportFrame& frame) const;
  // Is a file that was loaded the application's, whose author builds it?
  bool is_own(const std::string& module) const;

 private:
  bool is_program(const std::string& module) const;
  bool beside_program(const std::string& module) const;

  std::string program_;
  std::string project_;                       // the checkout or build folder around it; "": none
  std::vector<std::string> library_folders_;  // where its own shared objects lie
  OwnerChoices choices_;
};

// A kernel has a function of its name on the CPU, which launches it: no code that anybody wrote. Its frame becomes the
// runtime's, so that the frame to act on is the one that has `kernel<<<...>>>`.
void mark_kernel_entries(std::vector<ReportFrame>& stack);

// The frame to act on: the innermost of the application, else of a library, else the innermost. Of equals those
// with a line go first. Null without frames.
const ReportFrame* acting_frame(const std::vector<ReportFrame>& stack);

// What calls have in common that belong together: the line of the application to act on; without lines, the call. None: no
// frame is the application's.
using ActingPlace = std::pair<std::string, uint64_t>;
std::optional<ActingPlace> acting_place(const std::vector<ReportFrame>& stack);

// Does `line_of`'s call happen while the line runs at which `call` is made: is it made there, too, or by a function called
// there? Not of calls that a library's Python code makes.
bool made_at_line_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& line_of);

// Is `call` made below the function that has the line to act on of `line_of`, and was that function called from the same lines?
bool made_in_function_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& line_of);

// The innermost Python function, if it is a library's and not what the application calls: a part of that. Null: there is none.
const ReportFrame* library_part(const std::vector<ReportFrame>& stack);
// Is `call` made below the library's part that makes `wait`, in the same call of it?
bool made_in_part_of(const std::vector<ReportFrame>& call, const std::vector<ReportFrame>& wait);

// The function without arguments and version namespaces, as its author would say it. Python's names are that already.
std::string base_name(const ReportFrame& frame);

// The library's function that the frame to act on calls ("thrust::reduce_by_key", "tensor.item()"), without arguments; "" where
// it calls the runtime itself.
std::string called_library(const std::vector<ReportFrame>& stack);

// A wait that a library makes inside one of its functions: no call of the application's that could be removed.
struct LibraryWait {
  std::string function;        // that the application calls; the library's file where it has no name
  bool copy_of_torch = false;  // of PyTorch's, which take non_blocking
};
// Of Python's libraries, what the frame to act on calls (python_calls.h); its name is "" where it calls none of them.
PythonCall called_python(const std::vector<ReportFrame>& stack);
// None: the application makes the wait, or calls a function that is there to wait (torch.cuda.synchronize).
std::optional<LibraryWait> library_wait(const std::vector<ReportFrame>& stack);

}  // namespace diogenes
