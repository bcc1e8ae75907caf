// Reads a demangled name piece by piece, and is the one place that knows how brackets, operators and lambdas are
// written: base_name() (analysis/symbols) and short_function() (views/shared) choose among its pieces. Source: names as
// binutils' and LLVM's demanglers and DWARF write them, of C++, C, Rust and Fortran.
//
// In: any text. Out: pieces, none of them empty, that lie one behind the other and cover the text. A bracket that
// nothing closes reaches to the end. Nothing is allocated; time is linear in the text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace diogenes {

struct NamePiece {
  enum class Kind : uint8_t {
    text,                 // a::b, of a conversion operator its type; whatever is nothing else
    operator_name,        // operator<<, operator new[]; of a conversion "operator" alone
    anonymous_namespace,  // (anonymous namespace)
    unnamed,              // <lambda(int)> as DWARF writes it, <T as Trait> of Rust: where a name would begin
    braced,               // {lambda(int)#1}, {unnamed type#1}
    template_arguments,   // <int, 3>, with the space before it
    bracketed,            // [abi:cxx11], [clone .cold], with the space before it
    parameters,           // (int, char), also a type's: (*)(int)
    qualifiers,           // behind parameters: " const", " &&", " [clone .cold]"
    separator,            // the space behind a return type
  };
  Kind kind;
  size_t begin;  // where `text` begins in the name
  std::string_view text;
};

class NameReader {
 public:
  explicit NameReader(std::string_view name) : name_(name) {}
  std::optional<NamePiece> next();

 private:
  NamePiece::Kind take();

  std::string_view name_;
  size_t at_ = 0;
  bool component_begins_ = true;  // a name may begin here: at the start, behind "::" and behind a return type
  bool behind_parameters_ = false;  // qualifiers may follow
  bool in_conversion_ = false;      // in the type of a conversion operator, up to its parameters
};

}  // namespace diogenes
