#include "analysis/symbols/source_lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

namespace diogenes {
namespace {

constexpr off_t kLargest = 16 << 20;
constexpr size_t kLongest = 400;  // characters of a line

}  // namespace

const std::vector<std::string>& SourceLines::lines_of(const std::string& file) {
  auto [found, fresh] = files_.try_emplace(file);
  std::vector<std::string>& lines = found->second;
  if (!fresh) return lines;
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kLargest) return lines;
  if (int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec > measured_at_) return lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line.substr(0, kLongest));
  }
  return lines;
}

ReportSource SourceLines::at(const std::string& file, int line, int around) {
  if (line < 1 || static_cast<size_t>(line) > lines_of(file).size()) return {};
  return between(file, line - around, line + around);
}

ReportSource SourceLines::between(const std::string& file, int first, int last) {
  ReportSource source;
  const std::vector<std::string>& lines = lines_of(file);
  first = std::max(first, 1);
  last = std::min(last, static_cast<int>(lines.size()));
  if (first > last) return source;
  source.first = first;
  source.lines.assign(lines.begin() + first - 1, lines.begin() + last);
  return source;
}

}  // namespace diogenes
