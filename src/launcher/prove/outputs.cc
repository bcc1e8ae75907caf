#include "launcher/prove/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace diogenes::launcher {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_figures(std::string line) {
  std::erase_if(line, [](unsigned char c) {
    return std::isdigit(c) || std::isspace(c) || c == '.' || c == '-' || c == '+';
  });
  return line;
}

bool is_like(const std::vector<const std::string*>& theirs, const std::string& line) {
  const bool same =
      std::all_of(theirs.begin(), theirs.end(), [&](const std::string* one) { return *one == *theirs[0]; });
  if (same) return line == *theirs[0];
  const std::string words = without_figures(line);
  return std::any_of(theirs.begin(), theirs.end(),
                     [&](const std::string* one) { return without_figures(*one) == words; });
}

}  // namespace

std::string differs_from_all(const std::vector<std::string>& as_it_is, const std::string& corrected) {
  std::vector<std::vector<std::string>> all;
  for (const std::string& text : as_it_is) all.push_back(lines_of(text));
  const std::vector<std::string> lines = lines_of(corrected);
  size_t fewest = lines.size() + 1, most = 0;
  for (const auto& one : all) fewest = std::min(fewest, one.size()), most = std::max(most, one.size());
  if (!all.empty() && (lines.size() < fewest || lines.size() > most))
    return fmt::format("{} lines, not {}", lines.size(),
                       fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most));
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<const std::string*> theirs;
    for (const auto& one : all)
      if (i < one.size()) theirs.push_back(&one[i]);
    if (!theirs.empty() && !is_like(theirs, lines[i])) return fmt::format("at line {}", i + 1);
  }
  return "";
}

}  // namespace diogenes::launcher
