#include "base/demangled_name.h"

#include <array>

namespace diogenes {
namespace {

using Kind = NamePiece::Kind;

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$';
}

bool starts(std::string_view text, size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

bool operator_word(std::string_view text, size_t at) {
  return starts(text, at, kOperator) &&
         (at + kOperator.size() == text.size() || !is_word(text[at + kOperator.size()]));
}

// The position behind the operator's name, whose "operator" is at `at`; behind "operator" of a conversion.
size_t behind_operator(std::string_view text, size_t at) {
  static constexpr std::array<std::string_view, 45> kNames = {
      "<=>", "<<=", ">>=", "->*",    "()",        "[]",   "<<",      ">>",        "<=",   ">=", "->", "==",
      "!=",  "&&",  "||",  "++",     "--",        "+=",   "-=",      "*=",        "/=",   "%=", "^=", "&=",
      "|=",  "<",   ">",   "+",      "-",         "*",    "/",       "%",         "^",    "&",  "|",  "~",
      "!",   "=",   ",",   " new[]", " delete[]", " new", " delete", " co_await", "\"\" "};
  at += kOperator.size();
  for (std::string_view name : kNames) {
    if (!starts(text, at, name)) continue;
    const size_t behind = at + name.size();
    if (is_word(name.back()) && behind < text.size() && is_word(text[behind]))
      continue;  // operator newtype()
    return behind;
  }
  return at;
}

// The position behind the bracket that closes the one at `at`; the text's end if none does. Inside < >, what
// stands in parentheses is skipped as a whole: a comparison can stand only there.
size_t behind_bracket(std::string_view text, size_t at) {
  const char open = text[at];
  const char close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (starts(text, at, "->")) {
      at += 2;
    } else if (c == 'o' && !is_word(text[at - 1]) &&
               operator_word(text, at)) {  // its name looks like brackets
      at = behind_operator(text, at);
    } else if (open == '<' && c == '(') {
      at = behind_bracket(text, at);
    } else {
      if (c == open) ++depth;
      ++at;
      if (c == close && --depth == 0) return at;
    }
  }
  return at;
}

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

}  // namespace

std::optional<NamePiece> NameReader::next() {
  if (at_ >= name_.size()) return std::nullopt;
  const size_t begin = at_;
  const Kind kind = take();
  const std::string_view text = name_.substr(begin, at_ - begin);
  behind_parameters_ = kind == Kind::parameters;
  switch (kind) {
    case Kind::text:
      component_begins_ = text.ends_with("::");
      break;
    case Kind::separator:
      component_begins_ = true;
      break;
    case Kind::operator_name:
    case Kind::anonymous_namespace:
    case Kind::unnamed:
    case Kind::braced:
      component_begins_ = false;
      break;
    case Kind::template_arguments:
    case Kind::bracketed:
    case Kind::parameters:
    case Kind::qualifiers:
      break;
  }
  return NamePiece{kind, begin, text};
}

// Moves `at_` behind one piece, by one character at least.
NamePiece::Kind NameReader::take() {
  if (behind_parameters_)
    if (const size_t behind = behind_qualifiers(name_, at_); behind > at_) {
      at_ = behind;
      return Kind::qualifiers;
    }
  // Where a bracket begins, with the space before it.
  const auto bracket_at = [this](size_t at, char bracket) {
    if (at + 1 < name_.size() && name_[at] == ' ') ++at;
    return at < name_.size() && name_[at] == bracket;
  };
  const char c = name_[at_];
  if (c == '(') {
    in_conversion_ = false;
    if (starts(name_, at_, kAnonymous)) {
      at_ += kAnonymous.size();
      return Kind::anonymous_namespace;
    }
    at_ = behind_bracket(name_, at_);
    return Kind::parameters;
  }
  if (bracket_at(at_, '<')) {
    at_ = behind_bracket(name_, c == ' ' ? at_ + 1 : at_);
    return component_begins_ ? Kind::unnamed : Kind::template_arguments;
  }
  if (!in_conversion_) {
    if (bracket_at(at_, '[')) {
      at_ = behind_bracket(name_, c == ' ' ? at_ + 1 : at_);
      return Kind::bracketed;
    }
    if (c == '{') {
      at_ = behind_bracket(name_, at_);
      return Kind::braced;
    }
    if (c == ' ') {
      ++at_;
      return Kind::separator;
    }
    if (component_begins_ && operator_word(name_, at_)) {
      const size_t behind = behind_operator(name_, at_);
      in_conversion_ = behind == at_ + kOperator.size();
      at_ = behind;
      return Kind::operator_name;
    }
  }
  const size_t begin = at_;
  const auto ends_text = [&](size_t at) {
    if (name_[at] == '(' || bracket_at(at, '<')) return true;
    if (in_conversion_) return false;
    return name_[at] == ' ' || name_[at] == '[' || name_[at] == '{' ||
           (name_.substr(begin, at - begin).ends_with("::") && operator_word(name_, at));
  };
  do ++at_;
  while (at_ < name_.size() && !ends_text(at_));
  return Kind::text;
}

}  // namespace diogenes
