#include "views/explorer/screen.h"

#include <algorithm>
#include <cctype>

namespace diogenes::explorer {
namespace {

constexpr char32_t kBroken = 0xffffffff;

struct Character {
  size_t bytes = 1;
  char32_t code = kBroken;
};

// The character at the start of `text`, which is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead >= 0xf0 && lead < 0xf5   ? 4
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                                                     : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t code = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {bytes, code};
}

bool is_control(char32_t code) {
  // Also the marks that turn the direction of the text around.
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

size_t width_of(char32_t code) {
  if ((code >= 0x300 && code < 0x370) || (code >= 0x200b && code < 0x2010) ||
      (code >= 0xfe00 && code < 0xfe10))
    return 0;
  const bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                    (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                    (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
                    (code >= 0xffe0 && code < 0xffe7) || (code >= 0x1f300 && code < 0x1fb00) ||
                    (code >= 0x20000 && code < 0x3fffe);
  return wide ? 2 : 1;
}

// The bytes of `text`, which is printable, that fit in `columns`.
size_t bytes_within(std::string_view text, size_t columns) {
  size_t used = 0, at = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    used += width_of(character.code);
    if (used > columns) break;
    at += character.bytes;
  }
  return at;
}

Style style_of(std::string_view code) {
  if (code == "1") return Style::bold;
  if (code == "2") return Style::faint;
  if (code == "1;32") return Style::gain;
  if (code == "1;33") return Style::warning;
  return Style::plain;
}

// One line of a Page: ESC [ CODE m begins a style.
Line styled(std::string_view text) {
  Line line;
  Style style = Style::plain;
  while (!text.empty()) {
    const size_t escape = text.find("\x1b[");
    line.add(printable(text.substr(0, escape)), style);
    if (escape == std::string_view::npos) break;
    const size_t end = text.find_first_not_of("0123456789;", escape + 2);
    if (end == std::string_view::npos) break;
    style = style_of(text.substr(escape + 2, end - escape - 2));
    text.remove_prefix(end + 1);
  }
  return line;
}

bool same(char a, char b, bool exactly) {
  return exactly ? a == b
                 : std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

Line& Line::add(std::string text, Style style) {
  if (!text.empty()) spans.push_back({std::move(text), style});
  return *this;
}

std::string Line::text() const {
  std::string all;
  for (const Span& span : spans) all += span.text;
  return all;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    columns += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.code == '\t')
      result += ' ';
    else if (character.code == kBroken || is_control(character.code))
      result += '?';
    else
      result += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return result;
}

std::string cut(std::string_view text, size_t columns) {
  std::string whole = printable(text);
  if (columns_of(whole) <= columns) return whole;
  constexpr std::string_view kMore = "...";
  if (columns <= kMore.size()) return whole.substr(0, bytes_within(whole, columns));
  return whole.substr(0, bytes_within(whole, columns - kMore.size())) + std::string(kMore);
}

std::string fitted(std::string_view text, size_t columns) {
  std::string result = cut(text, columns);
  result.append(columns - columns_of(result), ' ');
  return result;
}

Line cut(const Line& line, size_t columns) {
  Line result;
  result.selected = line.selected;
  for (const Span& span : line.spans) {
    const size_t width = columns_of(span.text);
    if (width > columns) {
      result.add(cut(span.text, columns), span.style);
      return result;
    }
    result.add(span.text, span.style);
    columns -= width;
  }
  return result;
}

std::vector<Line> broken(const Line& line, size_t columns, size_t indent) {
  std::vector<Line> lines(1);
  indent = std::min(indent, columns / 3);
  size_t room = columns;
  for (const Span& span : line.spans) {
    std::string_view rest = span.text;
    while (!rest.empty()) {
      size_t bytes = bytes_within(rest, room);
      if (bytes == 0 && room >= columns - indent) bytes = first_character(rest).bytes;  // wider than any line
      lines.back().add(std::string(rest.substr(0, bytes)), span.style);
      room -= std::min(room, columns_of(rest.substr(0, bytes)));
      rest.remove_prefix(bytes);
      if (rest.empty()) break;
      lines.emplace_back(std::string(indent, ' '));
      room = columns - indent;
    }
  }
  return lines;
}

std::vector<Line> lines_of(const std::string& page, size_t columns) {
  constexpr size_t kIndent = 13;  // where the text beside a label stands
  std::vector<Line> lines;
  for (size_t begin = 0; begin < page.size();) {
    size_t end = page.find('\n', begin);
    if (end == std::string::npos) end = page.size();
    for (Line& line : broken(styled(std::string_view(page).substr(begin, end - begin)), columns, kIndent))
      lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

size_t find_text(const std::string& text, const std::string& part, size_t from) {
  if (part.empty() || from > text.size()) return std::string::npos;
  const bool exactly = std::any_of(part.begin(), part.end(), [](unsigned char c) { return std::isupper(c); });
  const auto at = std::search(text.begin() + static_cast<ptrdiff_t>(from), text.end(), part.begin(),
                              part.end(), [exactly](char a, char b) { return same(a, b, exactly); });
  return at == text.end() ? std::string::npos : static_cast<size_t>(at - text.begin());
}

Line with_found(const Line& line, const std::string& part) {
  const std::string text = line.text();
  size_t found = find_text(text, part);
  if (found == std::string::npos) return line;
  Line result;
  result.selected = line.selected;
  size_t at = 0;  // in `text`
  for (const Span& span : line.spans) {
    const size_t end = at + span.text.size();
    while (at < end) {
      while (found != std::string::npos && found + part.size() <= at)
        found = find_text(text, part, found + part.size());
      const bool inside = found <= at;
      const size_t until = inside ? std::min(end, found + part.size()) : std::min(end, found);
      result.add(text.substr(at, until - at), inside ? Style::found : span.style);
      at = until;
    }
  }
  return result;
}

}  // namespace diogenes::explorer
