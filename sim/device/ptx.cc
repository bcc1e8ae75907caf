#include "ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace diogenes::sim {
namespace {

std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 2;
      out += ' ';
    } else {
      out += text[at++];
    }
  }
  return out;
}

// Words, and single characters of punctuation.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}
  std::string_view next() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin && at_ < text_.size()) ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool is_word(char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '%';
  }
  std::string_view text_;
  size_t at_ = 0;
};

size_t bytes_of_type(std::string_view type) {
  if (type.size() < 3 || type[0] != '.' || std::string_view("usbf").find(type[1]) == type.npos) return 0;
  const int bits = atoi(std::string(type.substr(2)).c_str());
  return bits % 8 == 0 ? static_cast<size_t>(bits / 8) : 0;
}

// From after the opening bracket to the closing one.
bool parse_parameters(Tokens& tokens, PtxEntry& entry) {
  size_t end = 0, alignment = 0, type = 0, count = 1;
  bool in_array = false, any = false;
  for (;;) {
    const std::string_view token = tokens.next();
    if (token.empty() || token == "{" || token == ";") return false;
    if (token == "," || token == ")") {
      if (any) {
        if (type == 0) return false;
        const size_t align = std::max(alignment, type);
        const size_t offset = (end + align - 1) / align * align;
        entry.parameters.push_back({offset, type * count});
        end = offset + type * count;
      }
      if (token == ")") return true;
      alignment = type = 0;
      count = 1;
      any = false;
    } else if (token == ".param") {
      any = true;
    } else if (token == ".align") {
      alignment = static_cast<size_t>(atol(std::string(tokens.next()).c_str()));
    } else if (token == "[" || token == "]") {
      in_array = token == "[";
    } else if (in_array) {
      count *= static_cast<size_t>(atol(std::string(token).c_str()));
    } else if (const size_t bytes = bytes_of_type(token)) {
      type = bytes;
    }
  }
}

// From after `.global` to the declaration's end. Nothing: it has an initial value, or its size is not known.
std::optional<PtxVariable> parse_variable(Tokens& tokens) {
  PtxVariable variable{{}, 0, false};
  size_t count = 1;
  bool in_array = false, initialized = false;
  for (;;) {
    const std::string_view token = tokens.next();
    if (token.empty()) return std::nullopt;
    if (token == ";") break;
    if (token == "=") initialized = true;
    if (initialized) continue;
    if (token == ".align") {
      tokens.next();
    } else if (token == ".managed") {
      variable.managed = true;
    } else if (token == "[" || token == "]") {
      in_array = token == "[";
    } else if (in_array) {
      count *= static_cast<size_t>(atol(std::string(token).c_str()));
    } else if (const size_t bytes = bytes_of_type(token)) {
      variable.bytes = bytes;
    } else if (token[0] != '.' && token != "(" && token != ")") {
      variable.name = token;
    }
  }
  variable.bytes *= count;
  if (initialized || variable.bytes == 0 || variable.name.empty()) return std::nullopt;
  return variable;
}

}  // namespace

std::vector<PtxVariable> parse_ptx_variables(std::string_view text) {
  const std::string plain = without_comments(text);
  std::vector<PtxVariable> variables;
  Tokens tokens(plain);
  bool is_extern = false;
  int depth = 0;  // of brackets: code and parameter lists hold no variables of the module
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "{" || token == "(") ++depth;
    if (token == "}" || token == ")") --depth;
    if (token == ".global" && depth == 0) {
      if (auto variable = parse_variable(tokens); variable && !is_extern)
        variables.push_back(std::move(*variable));
      is_extern = false;
    } else if (token != ".visible") {
      is_extern = token == ".extern";
    }
  }
  return variables;
}

std::optional<std::vector<PtxEntry>> parse_ptx(std::string_view text) {
  const std::string plain = without_comments(text);
  if (plain.find(".version") == plain.npos || plain.find(".target") == plain.npos) return std::nullopt;
  std::vector<PtxEntry> entries;
  Tokens tokens(plain);
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token != ".entry") continue;
    PtxEntry entry;
    entry.name = tokens.next();
    const std::string_view opening = tokens.next();
    if (opening == "(" && !parse_parameters(tokens, entry)) return std::nullopt;
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace diogenes::sim
