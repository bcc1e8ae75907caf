// The functions of one compilation unit by address, with the scopes that they are in. The unit is walked once, however many
// addresses are asked for: one of many templates has a hundred thousand entries.
#pragma once
#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace diogenes {

class UnitFunctions {
 public:
  explicit UnitFunctions(Dwarf_Die unit);

  // Those that hold `pc`, outermost first, inlined ones included.
  std::vector<Dwarf_Die> at(Dwarf_Addr pc) const;

  // As its author wrote it, with parameters where DWARF has the linkage name. "": it has none.
  std::string name_of(Dwarf_Die* function);

 private:
  struct Piece {
    Dwarf_Addr begin, end;
    Dwarf_Addr reach;  // the largest end of this one and those before it
    Dwarf_Die function;
  };
  struct Declared {
    Dwarf_Off offset;
    uint32_t scope;  // of scopes_
  };

  void walk(Dwarf_Die* parent, uint32_t scope, int depth);
  std::string scope_of(Dwarf_Die* declaration) const;

  std::vector<Piece> pieces_;        // by address
  std::vector<Declared> declared_;   // by offset
  std::vector<std::string> scopes_;  // "a::b::"
  std::unordered_map<Dwarf_Off, std::string> names_;
};

}  // namespace diogenes
