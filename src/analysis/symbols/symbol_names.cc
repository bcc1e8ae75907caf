#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/symbols/symbols.h"

namespace diogenes {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// The position behind the bracket that closes the one at `at`; the text's end if none does. Inside < >, what
// stands in parentheses is skipped as a whole: a comparison can stand only there.
size_t behind_bracket(std::string_view text, size_t at) {
  char open = text[at];
  char close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
  int depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '-' && at + 1 < text.size() && text[at + 1] == '>') {
      at += 2;
      continue;
    }
    if (c == open) ++depth;
    if (c == close && --depth == 0) return at + 1;
    at = open == '<' && c == '(' ? behind_bracket(text, at) : at + 1;
  }
  return at;
}

bool starts(std::string_view text, size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

// After "operator" at `at`: appends the operator's name, returns the position behind it.
size_t take_operator(std::string_view text, size_t at, std::string& out) {
  static constexpr std::array<std::string_view, 45> kOperators = {
      "<=>", "<<=", ">>=", "->*",    "()",        "[]",   "<<",      ">>",        "<=",   ">=", "->", "==",
      "!=",  "&&",  "||",  "++",     "--",        "+=",   "-=",      "*=",        "/=",   "%=", "^=", "&=",
      "|=",  "<",   ">",   "+",      "-",         "*",    "/",       "%",         "^",    "&",  "|",  "~",
      "!",   "=",   ",",   " new[]", " delete[]", " new", " delete", " co_await", "\"\" "};
  for (std::string_view name : kOperators) {
    if (!starts(text, at, name)) continue;
    size_t behind = at + name.size();
    if (is_word(name.back()) && behind < text.size() && is_word(text[behind]))
      continue;  // operator newtype()
    out += name;
    return behind;
  }
  // A conversion: the type, up to the parameters.
  while (at < text.size() && text[at] != '(') {
    if (text[at] == '<') {
      at = behind_bracket(text, at);
      if (!out.empty() && out.back() == ' ') out.pop_back();
      continue;
    }
    out += text[at++];
  }
  return at;
}

// What may stand behind a parameter list, and says nothing of the name.
size_t behind_qualifiers(std::string_view text, size_t at) {
  for (bool more = true; more;) {
    more = false;
    for (std::string_view word : {" const", " volatile", " noexcept", " &&", " &", " [clone"}) {
      if (!starts(text, at, word)) continue;
      at = word == " [clone" ? behind_bracket(text, at + 1) : at + word.size();
      more = true;
    }
  }
  return at;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "cudaFree" of "cudaFree", "cudaFree_ptsz" and "cudaGetDeviceProperties_v2"; "" of anything that is no
// runtime name. The runtime's functions are C functions: a demangled C++ name has parentheses or colons.
std::string runtime_name(std::string_view function) {
  if (function.size() < 5 || !starts(function, 0, "cuda") ||
      !std::isupper(static_cast<unsigned char>(function[4])))
    return "";
  if (!std::all_of(function.begin(), function.end(), is_word)) return "";
  for (std::string_view suffix : {"_ptsz", "_ptds"})
    if (function.ends_with(suffix)) function.remove_suffix(suffix.size());
  size_t version = function.rfind("_v");
  if (version != std::string_view::npos && version + 2 < function.size() &&
      std::all_of(function.begin() + version + 2, function.end(),
                  [](unsigned char c) { return std::isdigit(c); }))
    function = function.substr(0, version);
  return std::string(function);
}

}  // namespace

std::string Symbolizer::base_name(std::string_view text) {
  std::string out;
  size_t at = 0;
  auto component_starts = [&out] { return out.empty() || out.ends_with("::"); };
  while (at < text.size()) {
    char c = text[at];
    if (starts(text, at, "operator") && (at == 0 || !is_word(text[at - 1])) && component_starts() &&
        (at + 8 == text.size() || !is_word(text[at + 8]))) {
      out += "operator";
      at = take_operator(text, at + 8, out);
      if (at + 1 < text.size() && text[at] == ' ' && text[at + 1] == '<') ++at;
    } else if (c == '<' && component_starts()) {  // a lambda as DWARF names it: <lambda(int)>
      out += starts(text, at, "<lambda") ? "{lambda}" : "{unnamed}";
      at = behind_bracket(text, at);
    } else if (c == '<' || c == '[') {  // template arguments; [abi:cxx11], [clone .cold]
      at = behind_bracket(text, at);
    } else if (starts(text, at, "(anonymous namespace)")) {
      out += "(anonymous namespace)";
      at += 21;
    } else if (c == '(') {
      at = behind_qualifiers(text, behind_bracket(text, at));
    } else if (c == '{') {  // {lambda(int)#1}, {unnamed type#1}
      size_t behind = behind_bracket(text, at);
      while (at < behind) {
        if (text[at] == '(')
          at = std::min(behind, behind_bracket(text, at));
        else
          out += text[at++];
      }
    } else if (c == ' ') {  // what came before was a return type, unless only brackets follow
      if (at + 1 < text.size() && text[at + 1] != '<' && text[at + 1] != '[') out.clear();
      ++at;
    } else {
      out += c;
      ++at;
    }
  }
  return out.empty() ? std::string(text) : out;
}

std::string runtime_api(const std::vector<ReportFrame>& stack) {
  std::string found;
  size_t at = 0;
  for (; at < stack.size() && starts(file_name(stack[at].module), 0, "libcudart"); ++at)
    if (std::string name = runtime_name(stack[at].function); !name.empty()) found = name;
  if (at > 0) return found;
  for (const ReportFrame& frame : stack) {
    if (!frame.file.empty() || frame.module != stack.front().module) return "";
    if (std::string name = runtime_name(frame.function); !name.empty()) return name;
  }
  return "";
}

}  // namespace diogenes
