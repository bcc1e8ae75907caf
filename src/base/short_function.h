// A function's demangled name as people say it.
#pragma once
#include <string>
#include <string_view>

namespace diogenes {

// Without return type and parameters; template arguments stay: "void a::B<int>::c<3>(int) const" ->
// "a::B<int>::c<3>".
std::string short_function(std::string_view demangled);

}  // namespace diogenes
