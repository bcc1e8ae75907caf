#include "views/text/page.h"

#include <fmt/format.h>

#include <sstream>

namespace diogenes {

void Page::line(const std::string& text) {
  text_ += text;
  text_.erase(text_.find_last_not_of(' ') + 1);
  text_ += '\n';
  ++lines_;
}

void Page::wrapped(const std::string& first, size_t indent, const std::string& text) {
  std::istringstream words(text);
  std::string word, current = first;
  const std::string margin(indent, ' ');
  size_t used = indent;
  bool empty = true;
  while (words >> word) {
    if (!empty && used + 1 + word.size() > width()) {
      line(current);
      current = margin;
      used = indent;
      empty = true;
    }
    if (!empty) {
      current += ' ';
      ++used;
    }
    current += word;
    used += word.size();
    empty = false;
  }
  line(current);
}

void Page::labelled(size_t indent, const std::string& label, const std::string& text) {
  wrapped(std::string(indent, ' ') + faint(fmt::format("{:<{}}", label, kLabel)), indent + kLabel, text);
}

}  // namespace diogenes
