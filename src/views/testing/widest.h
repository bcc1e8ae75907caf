// How wide a text is, for tests of the views.
#pragma once
#include <algorithm>
#include <sstream>
#include <string>

namespace diogenes {

// Characters of the widest line. The last one names a command, which is never broken.
inline size_t widest(const std::string& text) {
  size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("Next: ")) most = std::max(most, line.size());
  return most;
}

}  // namespace diogenes
