// Text inside HTML.
#include <fmt/format.h>

#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/utf8.h"

namespace diogenes {
std::string html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_character(text.substr(i));
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    const char c = text[i];
    if (length > 1)
      out += text.substr(i, length);
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += ' ';
    else
      out += c;
    i += length;
  }
  return out;
}

std::string html_item(const char* label, const std::string& content) {
  return content.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, content);
}

std::string html_stack(const std::vector<ReportFrame>& frames, const Reader& reader) {
  if (frames.empty()) return "";
  std::string text = fmt::format("<details><summary>Stack of {}</summary><ol class=\"stack\">\n",
                                 counted(frames.size(), "frame"));
  for (const ReportFrame& frame : frames)
    text += fmt::format("<li{}>{}</li>\n", frame.owner == FrameOwner::application ? "" : " class=\"other\"",
                        html(place_text(frame, reader.folder, kWholePlace)));
  return text + "</ol></details>\n";
}

}  // namespace diogenes
