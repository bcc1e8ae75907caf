// Names for code: from module + offset, as the trace holds it, to functions, inlined frames, files and lines.
// Source: elfutils' libdwfl over the ELF file, its separate debug file (.build-id, .gnu_debuglink, .debug
// folders) and, for code without a file, a perf map. Nothing is fetched over a network. In: ModuleRecord and
// offset (what a symbolizer takes: the return address - 1 of a caller). Out: ReportFrame, innermost first. A
// file that is gone, is no ELF file, or is another one than the program ran (build-id) gives module + offset
// only, and a notice. Not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "trace/format.h"

namespace diogenes {

class Symbolizer {
 public:
  // The folder of one process: where perf-PID.map is looked for, and after it /tmp. Empty: no perf maps.
  explicit Symbolizer(std::filesystem::path process_folder_for_perf_maps = {});
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Never empty: the last frame is the function that holds the code, those before it were inlined into it.
  // Functions are demangled with their parameters; files are as in DWARF (made absolute with the compilation
  // folder). A frame without a file (Frame::kNoModule) is asked with a ModuleRecord whose path is "", and the
  // address as offset.
  std::vector<ReportFrame> frames(const ModuleRecord& module, uint64_t offset);

  // What frames() will be asked for, all at once: files are read side by side, on threads of their own.
  struct Place {
    const ModuleRecord* module;
    uint64_t offset;
  };
  void find(std::span<const Place> places);

  // The exported function that holds `offset`, as the dynamic symbol table names it (with _v2, _ptds); "" if
  // none does. Of several names for one address, the shortest.
  std::string export_at(const std::string& path, uint64_t offset);

  // What could not be resolved and why: one line a file.
  const std::vector<std::string>& notices() const { return notices_; }

  // Without template arguments, parameters and return type: "void a::B<int>::c<3>(int) const" becomes
  // "a::B::c". Operators, lambdas and anonymous namespaces survive: "operator<<", "operator()", "{lambda#1}".
  static std::string base_name(std::string_view demangled);

  struct Module;  // one file: symbols.cc

 private:
  struct MappedName {
    uint64_t end;
    std::string name;
  };
  Module& entry(const ModuleRecord& module);
  Module& entry(const std::string& path, const uint8_t* build_id, int build_id_length);
  Module& opened(Module& module);
  void load_perf_maps();
  std::vector<ReportFrame> mapped_frames(uint64_t address);

  std::filesystem::path process_folder_;
  std::map<std::string, std::unique_ptr<Module>> modules_;  // by path and build-id
  std::map<uint64_t, MappedName> perf_map_;                 // by begin
  bool perf_maps_loaded_ = false;
  std::vector<std::string> notices_;
};

// What a file would give to a report, before it has run: from the file or its separate debug file.
struct NamesInFile {
  bool functions = false, lines = false;
};
NamesInFile names_in(const std::filesystem::path& file);

// The CUDA runtime function that the program called, where the innermost frames are the runtime's: by the
// module (libcudart.so.*), or by a cudaXxx symbol in the program (static runtime). "" where they are not. Of
// "cudaFree_ptsz" the answer is "cudaFree". Frames with line info are the program's: what lies beyond them is
// not looked at.
std::string runtime_api(const std::vector<ReportFrame>& stack);

}  // namespace diogenes
