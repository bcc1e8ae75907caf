#include "analysis/symbols/dwarf_frames.h"

#include <cxxabi.h>
#include <dwarf.h>

#include <cstdlib>

namespace diogenes {

std::string demangle(const char* name) {
  std::string plain = name;
  if (plain.rfind("_Z", 0) == 0) {
    plain =
        plain.substr(0, plain.find('.'));  // .isra.0, .constprop.1, .cold: the same function to its author
    int status = 0;
    if (char* full = abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status)) {
      plain = full;
      free(full);
    }
    return plain;
  }
  // A suffix that the compiler added to a C name; a leading dot would be all of it.
  size_t dot = plain.find('.');
  return dot == std::string::npos || dot == 0 ? plain : plain.substr(0, dot);
}

const char* linkage_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(die, kind, &attribute))
      if (const char* name = dwarf_formstring(&attribute)) return name;
  return nullptr;
}

bool is_cxx(Dwarf_Die* unit) {
  switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
      return true;
    default:
      return false;
  }
}

namespace {

std::string absolute(const char* file, Dwarf_Die* unit) {
  if (!file) return "";
  if (file[0] == '/' || file[0] == '<') return file;  // <built-in>
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  return folder ? std::string(folder) + "/" + file : file;
}

}  // namespace

// The line table's entry for `pc`; one for code that the compiler gave no line (0) answers with the line
// before it.
void find_line(Dwarf_Die* unit, Dwarf_Addr pc, ReportFrame& frame) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, pc);
  if (!line) return;
  int number = 0;
  dwarf_lineno(line, &number);
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (number == 0 && dwarf_getsrclines(unit, &lines, &count) == 0) {
    Dwarf_Addr best = 0;
    for (size_t i = 0; i < count; ++i) {
      Dwarf_Line* other = dwarf_onesrcline(lines, i);
      Dwarf_Addr address = 0;
      int candidate = 0;
      bool ends = false;
      if (dwarf_lineaddr(other, &address) != 0 || dwarf_lineno(other, &candidate) != 0) continue;
      if (dwarf_lineendsequence(other, &ends) != 0 || ends || candidate == 0) continue;
      if (address > pc || address < best || pc - address > 256) continue;
      best = address;
      number = candidate;
      line = other;
    }
  }
  if (number == 0) return;
  frame.file = absolute(dwarf_linesrc(line, nullptr, nullptr), unit);
  frame.line = number;
  dwarf_linecol(line, &frame.column);
}

void find_call_line(Dwarf_Die* unit, Dwarf_Die* inlined, ReportFrame& frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0) return;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return;
  frame.file = absolute(dwarf_filesrc(files, file, nullptr, nullptr), unit);
  frame.line = static_cast<int>(line);
  Dwarf_Word column = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attribute), &column) == 0)
    frame.column = static_cast<int>(column);
}

}  // namespace diogenes
