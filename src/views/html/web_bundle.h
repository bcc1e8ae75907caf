// The page's script and style, as web/build.mjs bundled them; in the program itself (web_bundle.S).
#pragma once
#include <string_view>

namespace diogenes {

std::string_view page_script();
std::string_view page_style();

}  // namespace diogenes
