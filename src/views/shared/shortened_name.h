// A function's name where there is little room: a template's may have 4,000 characters. In: the name as its author reads it.
#pragma once
#include <cstddef>
#include <string>

namespace diogenes {

// In `room` characters: template arguments inside of others go first, then its middle.
std::string shortened_name(const std::string& name, size_t room);

}  // namespace diogenes
