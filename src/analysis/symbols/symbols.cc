#include "analysis/symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/symbols/debug_files.h"
#include "analysis/symbols/dwarf_frames.h"
#include "analysis/symbols/module_file.h"
#include "analysis/symbols/split_functions.h"
#include "analysis/symbols/unit_functions.h"
#include "base/in_background.h"
#include "trace/module_identity.h"

namespace diogenes {
struct CodeSymbol {
  uint64_t begin, end;  // end == begin: the symbol has no size
  uint64_t reach;       // the largest end of this one and those before it
  const char* name;     // in the file's string table
};

namespace {

constexpr size_t kMostThreads = 8;

char* debuginfo_path = nullptr;  // libdwfl's default: beside the file, .debug, /usr/lib/debug
const Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,  // the file is given
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debuginfo_path,
};

// Innermost sized symbol that holds `offset`; else the nearest one before it if that has no size.
const CodeSymbol* find_symbol(const std::vector<CodeSymbol>& symbols, uint64_t offset) {
  auto next = std::upper_bound(symbols.begin(), symbols.end(), offset,
                               [](uint64_t value, const CodeSymbol& symbol) { return value < symbol.begin; });
  for (auto at = next; at != symbols.begin();) {
    --at;
    if (at->begin <= offset && offset < at->end) return &*at;
    if (at->reach <= offset) break;
  }
  if (next == symbols.begin()) return nullptr;
  const CodeSymbol& before = *(next - 1);
  return before.begin == before.end && offset - before.begin < 65536 ? &before : nullptr;
}

void sort_symbols(std::vector<CodeSymbol>& symbols) {
  // At one address: the larger first, so that a search from behind meets the smaller; of equals, the shorter
  // name last.
  std::sort(symbols.begin(), symbols.end(), [](const CodeSymbol& a, const CodeSymbol& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    size_t la = strlen(a.name), lb = strlen(b.name);
    return la != lb ? la > lb : strcmp(a.name, b.name) > 0;
  });
  uint64_t reach = 0;
  for (CodeSymbol& symbol : symbols) symbol.reach = reach = std::max(reach, symbol.end);
}

bool is_code(const GElf_Sym& symbol) {
  int type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx != SHN_ABS && symbol.st_value != 0;
}

}  // namespace

struct Symbolizer::Module {
  std::string path;
  std::vector<uint8_t> build_id;
  std::string trouble;  // why nothing can be said of it, until that is told
  bool opened = false;
  Dwfl* session = nullptr;
  Dwfl_Module* file = nullptr;
  GElf_Addr bias = 0;  // libdwfl's address - bias = virtual address in the file
  std::vector<CodeSymbol> symbols, exports;
  bool symbols_read = false, exports_read = false, units_read = false;
  struct Unit {
    uint64_t begin, end;
    Dwarf_Die die;
  };
  std::string interpreter;              // the file, if it is Python's: who evaluates Python has to be known
  std::optional<SplitFunctions> split;  // read where a function of it has no name
  std::vector<Unit> units;              // for files whose .debug_aranges does not cover the code
  std::unordered_map<const void*, UnitFunctions> functions_of;  // by the unit's DIE
  std::unordered_map<uint64_t, std::vector<ReportFrame>> cache;

  ~Module() {
    if (session) dwfl_end(session);
  }

  void open_once() {
    if (std::exchange(opened, true)) return;
    if (path.empty() || path[0] == '[' || path.find("linux-vdso") != std::string::npos) return;
    trouble = open();
  }

  // "" or why nothing can be said of this file's code.
  std::string open() {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return "is gone";
    if (!S_ISREG(status.st_mode)) return "is not a regular file";
    session = dwfl_begin(&kCallbacks);
    if (!session) return "cannot be read";
    dwfl_report_begin(session);
    file = dwfl_report_offline(session, path.c_str(), path.c_str(), -1);
    dwfl_report_end(session, nullptr, nullptr);
    if (!file || !dwfl_module_getelf(file, &bias)) {
      file = nullptr;
      return "is not an ELF file that can be read";
    }
    const unsigned char* actual = nullptr;
    GElf_Addr address = 0;
    const int length = dwfl_module_build_id(file, &actual, &address),
              expected = static_cast<int>(build_id.size());
    if (expected > 0 &&
        (length < expected || !actual || memcmp(actual, build_id.data(), build_id.size()) != 0)) {
      file = nullptr;
      return "is not the file that ran (its build-id differs)";
    }
    if (is_interpreter(path)) interpreter = path;
    return "";
  }

  void read_symbols() {
    if (symbols_read) return;
    symbols_read = true;
    int count = dwfl_module_getsymtab(file);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      GElf_Word section = 0;
      Elf* elf = nullptr;
      Dwarf_Addr symbol_bias = 0;
      const char* name = dwfl_module_getsym_info(file, i, &symbol, &address, &section, &elf, &symbol_bias);
      if (!name || !*name || name[0] == '$' || !is_code(symbol) || address < bias) continue;
      symbols.push_back({address - bias, address - bias + symbol.st_size, 0, name});
    }
    sort_symbols(symbols);
  }

  void read_exports() {
    if (exports_read) return;
    exports_read = true;
    GElf_Addr ignored = 0;
    Elf* elf = dwfl_module_getelf(file, &ignored);
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
      GElf_Shdr header;
      if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      if (!data) continue;
      for (size_t i = 1; i < data->d_size / header.sh_entsize; ++i) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol) || !is_code(symbol) || symbol.st_size == 0)
          continue;
        const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name && *name) exports.push_back({symbol.st_value, symbol.st_value + symbol.st_size, 0, name});
      }
    }
    sort_symbols(exports);
  }

  // The compilation unit of an address of libdwfl's; `unit_bias`: what to take off for addresses in DWARF.
  bool find_unit(Dwarf_Addr address, Dwarf_Die& unit, Dwarf_Addr& unit_bias) {
    if (Dwarf_Die* found = dwfl_module_addrdie(file, address, &unit_bias)) {
      unit = *found;
      return true;
    }
    if (!units_read) {
      units_read = true;
      Dwarf_Addr read_bias = 0;
      for (Dwarf_Die* die = nullptr; (die = dwfl_module_nextcu(file, die, &read_bias));) {
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (ptrdiff_t next = 0; (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0;)
          if (begin < end) units.push_back({begin + read_bias, end + read_bias, *die});
      }
      std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.begin < b.begin; });
    }
    auto next = std::upper_bound(units.begin(), units.end(), address,
                                 [](uint64_t value, const Unit& other) { return value < other.begin; });
    if (next == units.begin() || address >= (next - 1)->end) return false;
    unit = (next - 1)->die;
    dwfl_module_getdwarf(file, &unit_bias);
    return true;
  }

  const std::vector<ReportFrame>& frames(uint64_t offset) {
    auto [cached, fresh] = cache.try_emplace(offset);
    if (!fresh) return cached->second;
    cached->second = file ? resolve(offset) : std::vector<ReportFrame>(1);
    for (ReportFrame& frame : cached->second) {
      frame.module = path;
      frame.offset = offset;
    }
    return cached->second;
  }

  std::string moved_from(uint64_t offset) {
    if (!split) split.emplace(interpreter);
    return split->function_of(offset);
  }

  std::vector<ReportFrame> resolve(uint64_t offset) {
    read_symbols();
    const CodeSymbol* symbol = find_symbol(symbols, offset);
    ReportFrame outer;
    if (symbol)
      outer.function = demangle(symbol->name);
    else if (!interpreter.empty())
      outer.function = moved_from(offset);
    Dwarf_Die unit;
    Dwarf_Addr unit_bias = 0;
    const bool cxx_name = symbol && strncmp(symbol->name, "_Z", 2) == 0;
    if (cxx_name) outer.language = "c++";
    if (!find_unit(offset + bias, unit, unit_bias)) return {outer};
    Dwarf_Addr pc = offset + bias - unit_bias;
    UnitFunctions& in_unit = functions_of.try_emplace(unit.addr, unit).first->second;
    std::vector<Dwarf_Die> functions = in_unit.at(pc);

    std::vector<ReportFrame> result;
    ReportFrame frame;
    find_line(&unit, pc, frame);
    for (size_t i = functions.size(); i-- > 0;) {
      frame.inlined = i > 0;
      // The symbol table knows the parameters of functions whose linkage name DWARF leaves out.
      frame.function = i == 0 && !linkage_name(&functions[0]) && cxx_name ? outer.function
                                                                          : in_unit.name_of(&functions[i]);
      if (frame.function.empty() && i == 0) frame.function = outer.function;
      result.push_back(frame);
      frame = {};
      if (i > 0) find_call_line(&unit, &functions[i], frame);
    }
    if (result.empty()) {
      frame.function = outer.function;
      result.push_back(frame);
    }
    if (cxx_name || is_cxx(&unit))
      for (ReportFrame& known : result) known.language = "c++";
    return result;
  }
};

Symbolizer::Symbolizer(std::filesystem::path process_folder_for_perf_maps)
    : process_folder_(std::move(process_folder_for_perf_maps)) {}
Symbolizer::~Symbolizer() = default;

// As it is: open_once() comes first.
Symbolizer::Module& Symbolizer::entry(const std::string& path, const uint8_t* build_id, int build_id_length) {
  std::string key = path;
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(build_id), build_id_length);
  auto& module = modules_[key];
  if (module) return *module;
  module = std::make_unique<Module>();
  module->path = path;
  module->build_id.assign(build_id, build_id + build_id_length);
  return *module;
}

Symbolizer::Module& Symbolizer::entry(const ModuleRecord& module) {
  return entry(path_of(module), module.build_id,
               std::min<int>(module.build_id_length, sizeof module.build_id));
}

Symbolizer::Module& Symbolizer::opened(Module& module) {
  module.open_once();
  if (const std::string trouble = std::exchange(module.trouble, ""); !trouble.empty())
    notices_.push_back(
        module.path + " " + trouble +
        ": its functions and lines are not known; keep the program's files until the report is made");
  return module;
}

std::vector<ReportFrame> Symbolizer::frames(const ModuleRecord& module, uint64_t offset) {
  const std::string path = path_of(module);
  return path.empty() ? mapped_frames(offset) : opened(entry(module)).frames(offset);
}

void Symbolizer::find(std::span<const Place> places) {
  std::map<const ModuleRecord*, std::vector<uint64_t>> offsets;
  for (const Place& place : places)
    if (place.module->path[0] != 0) offsets[place.module].push_back(place.offset);
  // Two records may be of one file.
  std::map<Module*, std::vector<const ModuleRecord*>> records;
  for (const auto& [record, of_file] : offsets) records[&entry(*record)].push_back(record);
  struct File {
    Module* module;
    const std::vector<const ModuleRecord*>* records;
    uintmax_t bytes;
  };
  std::vector<File> files;
  for (const auto& [module, of_file] : records) {
    std::error_code failed;
    const uintmax_t bytes = std::filesystem::file_size(module->path, failed);
    files.push_back({module, &of_file, failed ? 0 : bytes});
  }
  // Those that take longest come first.
  std::stable_sort(files.begin(), files.end(),
                   [](const File& a, const File& b) { return a.bytes > b.bytes; });
  each_on_threads(kMostThreads, files.size(), [&](size_t i) {
    files[i].module->open_once();
    for (const ModuleRecord* record : *files[i].records)
      for (const uint64_t offset : offsets.at(record)) files[i].module->frames(offset);
  });
  for (const auto& [record, of_file] : offsets) opened(entry(*record));
}

std::string Symbolizer::export_at(const std::string& path, uint64_t offset) {
  Module& module = opened(entry(path, nullptr, 0));
  if (!module.file) return "";
  module.read_exports();
  const CodeSymbol* symbol = find_symbol(module.exports, offset);
  return symbol ? symbol->name : "";
}

// "BEGIN SIZE NAME" in hexadecimal a line, as perf reads it. A Python function is named "py::NAME:FILE".
void Symbolizer::load_perf_maps() {
  perf_maps_loaded_ = true;
  if (process_folder_.empty()) return;
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (auto& entry : std::filesystem::directory_iterator(process_folder_, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.rfind("perf-", 0) == 0 && entry.path().extension() == ".map") files.push_back(entry.path());
  }
  if (files.empty()) {
    // The folder is [rankR-]HOST-PID[.K]. A map older than the folder is another process's.
    std::string pid = process_folder_.filename().string();
    pid = pid.substr(pid.rfind('-') + 1);
    pid = pid.substr(0, pid.find('.'));
    std::filesystem::path map = "/tmp/perf-" + pid + ".map";
    struct statx folder {
    }, written{};
    if (statx(AT_FDCWD, process_folder_.c_str(), 0, STATX_BTIME, &folder) == 0 &&
        (folder.stx_mask & STATX_BTIME) && statx(AT_FDCWD, map.c_str(), 0, STATX_MTIME, &written) == 0 &&
        written.stx_mtime.tv_sec >= folder.stx_btime.tv_sec)
      files.push_back(map);
  }
  for (auto& file : files) {
    std::ifstream lines(file);
    uint64_t begin = 0, size = 0;
    std::string name;
    while (lines >> std::hex >> begin >> size && std::getline(lines >> std::ws, name))
      perf_map_[begin] = {begin + size, name};
  }
}

std::vector<ReportFrame> Symbolizer::mapped_frames(uint64_t address) {
  if (!perf_maps_loaded_) load_perf_maps();
  ReportFrame frame;
  frame.offset = address;
  auto next = perf_map_.upper_bound(address);
  if (next == perf_map_.begin() || address >= std::prev(next)->second.end) return {frame};
  frame.function = std::prev(next)->second.name;
  if (frame.function.rfind("py::", 0) == 0) {
    size_t colon = frame.function.rfind(':');
    if (colon > 4) frame.file = frame.function.substr(colon + 1);
    frame.function = frame.function.substr(4, colon > 4 ? colon - 4 : std::string::npos);
    frame.language = "python";
  }
  return {frame};
}

NamesInFile names_in(const std::filesystem::path& file) {
  constexpr int kMostUnits = 64;  // those of the C library's start files come first, and may have no lines
  NamesInFile found;
  Symbolizer::Module module;
  module.path = file.string();
  if (!module.open().empty()) return found;
  GElf_Addr elf_bias = 0;
  Elf* elf = dwfl_module_getelf(module.file, &elf_bias);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr && !found.functions;) {
    GElf_Shdr header;
    // The dynamic symbols, which every program has, name what it imports.
    found.functions = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB;
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  for (int i = 0; i < kMostUnits && !found.lines && (unit = dwfl_module_nextcu(module.file, unit, &bias));
       ++i) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    found.lines = dwarf_getsrclines(unit, &lines, &count) == 0 && count > 0;
  }
  found.functions |= found.lines;  // both of a separate debug file
  return found;
}

}  // namespace diogenes
