// UTF-8 in what the measured program wrote: names may have any bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace diogenes {

// Bytes of the UTF-8 character at the beginning of `text`, which is not empty; 0: there is none.
size_t utf8_character(std::string_view text);

// With U+FFFD for each byte that belongs to no character.
std::string valid_utf8(std::string_view text);

}  // namespace diogenes
