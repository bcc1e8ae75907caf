// What DWARF says of one address and of one function: names, files, lines. Source: the DWARF 5 standard, read with
// elfutils' libdw. Which functions hold an address: unit_functions.h.
#pragma once
#include <elfutils/libdw.h>

#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// A name as its author wrote it, with parameters; what the compiler appended (.isra.0, .cold) is dropped.
std::string demangle(const char* name);

// Null where DWARF has none: functions with internal linkage, C.
const char* linkage_name(Dwarf_Die* die);

// Was the unit written in C++?
bool is_cxx(Dwarf_Die* unit);

// Sets the frame's file, line and column from the line table. Code to which the compiler gave line 0 gets the line
// before it.
void find_line(Dwarf_Die* unit, Dwarf_Addr pc, ReportFrame& frame);

// Sets the frame's file, line and column to where `inlined` was called.
void find_call_line(Dwarf_Die* unit, Dwarf_Die* inlined, ReportFrame& frame);

}  // namespace diogenes
