#include "views/shared/shortened_name.h"

#include "base/demangled_name.h"

namespace diogenes {
namespace {

// Without what is inside of more than `depth` template arguments.
std::string without_arguments(const std::string& name, int depth) {
  std::string text;
  int inside = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool arrow = c == '>' && i > 0 && name[i - 1] == '-';
    if (c == '<' && ++inside == depth + 1) text += "<...";
    if (c == '>' && !arrow && inside-- == depth + 1) {
      text += '>';
      continue;
    }
    if (inside <= depth) text += c;
  }
  return text;
}

std::string without_middle(const std::string& text, size_t room) {
  if (text.size() <= room || room < 8) return text.substr(0, room);
  const size_t tail = (room - 3) / 3, head = room - 3 - tail;
  return text.substr(0, head) + "..." + text.substr(text.size() - tail);
}

// Other punctuation than brackets, as of "operator<", would be taken for one.
bool has_operator(const std::string& name) {
  NameReader reader(name);
  while (const auto piece = reader.next())
    if (piece->kind == NamePiece::Kind::operator_name) return true;
  return false;
}

}  // namespace

std::string shortened_name(const std::string& name, size_t room) {
  constexpr int kDeepest = 8;
  if (name.size() <= room) return name;
  if (has_operator(name)) return without_middle(name, room);
  std::string shorter = name;
  for (int depth = kDeepest; depth > 0; --depth) {
    shorter = without_arguments(name, depth);
    if (shorter.size() <= room) return shorter;
  }
  const std::string bare = without_arguments(name, 0);
  // The first and the last argument tell more than none.
  return bare.size() + 12 > room && bare.size() <= room ? bare : without_middle(shorter, room);
}

}  // namespace diogenes
