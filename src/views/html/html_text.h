// Text inside HTML.
#pragma once
#include <string>
#include <string_view>

namespace diogenes {

// As content or as an attribute in double quotes. What is no UTF-8 becomes U+FFFD; control characters become spaces,
// but for tabs and line ends.
std::string html(std::string_view text);

}  // namespace diogenes
