#include "analysis/symbols/unit_functions.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/symbols/dwarf_frames.h"

namespace diogenes {
namespace {

constexpr int kDeepest = 256;

// The DIE that says where a function is declared: behind abstract_origin and specification.
Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int step = 0; step < 8; ++step) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
        !dwarf_attr(&die, DW_AT_specification, &attribute))
      break;
    if (!dwarf_formref_die(&attribute, &next)) break;
    die = next;
  }
  return die;
}

// "a::" of what names within it stand behind; "" of what adds nothing to them.
std::string scope_name(Dwarf_Die* scope) {
  const char* name = dwarf_diename(scope);
  switch (dwarf_tag(scope)) {
    case DW_TAG_namespace:
      return std::string(name ? name : "(anonymous namespace)") + "::";
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return std::string(name ? name : "{unnamed type}") + "::";
    case DW_TAG_subprogram:
    case DW_TAG_module:  // Fortran
      return name ? std::string(name) + "::" : "";
    default:
      return "";
  }
}

// In a damaged file a sibling may stand before, and the walk would not end.
bool next_sibling(Dwarf_Die* die) {
  const Dwarf_Off before = dwarf_dieoffset(die);
  return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

// Appends the functions inside of `parent` that hold `pc`, outermost first.
bool find_inside(Dwarf_Die* parent, Dwarf_Addr pc, int depth, std::vector<Dwarf_Die>& found) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(parent, &child) != 0) return false;
  do {
    switch (int tag = dwarf_tag(&child)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        if (dwarf_haspc(&child, pc) > 0) {
          const bool function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
          if (function) found.push_back(child);
          return find_inside(&child, pc, depth + 1, found) || function;
        }
        break;
      default:
        break;
    }
  } while (next_sibling(&child));
  return false;
}

}  // namespace

UnitFunctions::UnitFunctions(Dwarf_Die unit) : scopes_(1) {
  walk(&unit, 0, 0);
  std::stable_sort(pieces_.begin(), pieces_.end(),
                   [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  Dwarf_Addr reach = 0;
  for (Piece& piece : pieces_) piece.reach = reach = std::max(reach, piece.end);
  std::sort(declared_.begin(), declared_.end(),
            [](const Declared& a, const Declared& b) { return a.offset < b.offset; });
}

void UnitFunctions::walk(Dwarf_Die* parent, uint32_t scope, int depth) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram: {
        declared_.push_back({dwarf_dieoffset(&child), scope});
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (ptrdiff_t next = 0; (next = dwarf_ranges(&child, next, &base, &begin, &end)) > 0;)
          if (begin < end) pieces_.push_back({begin, end, 0, child});
        break;
      }
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        if (!dwarf_haschildren(&child)) break;
        scopes_.push_back(scopes_[scope] + scope_name(&child));
        walk(&child, static_cast<uint32_t>(scopes_.size() - 1), depth + 1);
        break;
      default:
        break;
    }
  } while (next_sibling(&child));
}

std::vector<Dwarf_Die> UnitFunctions::at(Dwarf_Addr pc) const {
  std::vector<Dwarf_Die> found;
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), pc,
                               [](Dwarf_Addr value, const Piece& piece) { return value < piece.begin; });
  while (next != pieces_.begin() && found.empty()) {
    --next;
    if (next->reach <= pc) break;
    if (next->end <= pc) continue;
    Dwarf_Die function = next->function;
    found.push_back(function);
    find_inside(&function, pc, 1, found);
  }
  return found;
}

// Of functions that are declared inside of a function, the walk has none.
std::string UnitFunctions::scope_of(Dwarf_Die* declaration) const {
  const Dwarf_Off offset = dwarf_dieoffset(declaration);
  auto known = std::lower_bound(declared_.begin(), declared_.end(), offset,
                                [](const Declared& one, Dwarf_Off value) { return one.offset < value; });
  if (known != declared_.end() && known->offset == offset) return scopes_[known->scope];
  std::string scope;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(declaration, &scopes);
  for (int i = 1; i < count; ++i) scope = scope_name(&scopes[i]) + scope;
  free(scopes);
  return scope;
}

std::string UnitFunctions::name_of(Dwarf_Die* function) {
  auto [known, fresh] = names_.try_emplace(dwarf_dieoffset(function));
  if (!fresh) return known->second;
  if (const char* linked = linkage_name(function)) return known->second = demangle(linked);
  const char* own = dwarf_diename(function);
  if (!own) return "";
  Dwarf_Die declaration = declaration_of(*function);
  return known->second = scope_of(&declaration) + own;
}

}  // namespace diogenes
