#include "launcher/commands/allow_list.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace diogenes::launcher {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

Result<std::map<std::string, std::string>> read_allow_list(const std::string& file) {
  std::ifstream lines(file);
  if (!lines)
    return error("%s: %s; --allow takes a file with a source key and a reason a line", file.c_str(),
                 strerror(errno));
  std::map<std::string, std::string> allowed;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t end = line.find_first_of(" \t");
    const std::string key = line.substr(0, end),
                      reason = end == std::string::npos ? "" : trimmed(line.substr(end));
    if (reason.empty())
      return error("%s:%d: %s has no reason; write after it why it may stay", file.c_str(), number,
                   key.c_str());
    allowed[key] = reason;
  }
  return allowed;
}

}  // namespace diogenes::launcher
