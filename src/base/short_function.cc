#include "base/short_function.h"

#include "base/demangled_name.h"

namespace diogenes {
namespace {

constexpr std::string_view kAnonymousScope = "(anonymous namespace)::";

// Where a function is told by its file and line, its unnamed scopes tell nothing.
std::string without_anonymous(std::string name) {
  for (size_t at; (at = name.find(kAnonymousScope)) != std::string::npos;)
    name.erase(at, kAnonymousScope.size());
  return name;
}

}  // namespace

std::string short_function(std::string_view name) {
  size_t start = 0, end = name.size();
  NameReader reader(name);
  while (const auto piece = reader.next()) {
    if (piece->kind == NamePiece::Kind::operator_name) return std::string(name);
    if (piece->kind == NamePiece::Kind::separator) start = piece->begin + 1;
    if (piece->kind != NamePiece::Kind::parameters || piece->begin == start) continue;
    const bool local = name.find("::", piece->begin + piece->text.size()) != std::string_view::npos;
    const bool type = name.substr(start, piece->begin - start).starts_with("decltype");
    if (local || type) continue;
    end = piece->begin;
    break;
  }
  return without_anonymous(std::string(start < end ? name.substr(start, end - start) : name));
}

}  // namespace diogenes
