#include <algorithm>
#include <cctype>

#include "analysis/symbols/symbols.h"
#include "base/demangled_name.h"

namespace diogenes {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

bool starts(std::string_view text, size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
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
  using Kind = NamePiece::Kind;
  std::string out;
  NameReader reader(text);
  while (const auto piece = reader.next()) {
    switch (piece->kind) {
      case Kind::text:
      case Kind::operator_name:
      case Kind::anonymous_namespace:
        out += piece->text;
        break;
      case Kind::unnamed:
        out += piece->text.starts_with("<lambda") ? "{lambda}" : "{unnamed}";
        break;
      case Kind::braced: {  // {lambda(int)#1} without its parameters
        out += '{';
        NameReader inside(piece->text.substr(1));
        while (const auto part = inside.next())
          if (part->kind != Kind::parameters) out += part->text;
        break;
      }
      case Kind::separator:
        out.clear();
        break;
      case Kind::template_arguments:
      case Kind::bracketed:
      case Kind::parameters:
      case Kind::qualifiers:
        break;
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
