// What the explorer shows, without a terminal: lines of spans, each with a style. In: text of any kind, as UTF-8 or
// not. Out: text of a known width in which nothing moves the cursor.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diogenes::explorer {

struct Size {
  size_t columns = 80, lines = 24;
};

enum class Style : uint8_t { plain, bold, faint, gain, warning, found };

struct Span {
  std::string text;
  Style style = Style::plain;
};

struct Line {
  std::vector<Span> spans;
  bool selected = false;

  Line() = default;
  explicit Line(std::string text, Style style = Style::plain) { add(std::move(text), style); }
  Line& add(std::string text, Style style = Style::plain);
  std::string text() const;
};

struct Screen {
  std::vector<Line> lines;
  std::optional<size_t> cursor;  // column in the last line, where text is typed
};

// How many columns of a terminal the text takes: wide characters take two, combining ones none.
size_t columns_of(std::string_view text);

// The text with '?' for what is no UTF-8 or would move the cursor, and a space for a tab.
std::string printable(std::string_view text);

// At most `columns` wide, "..." at the end where something is left out.
std::string cut(std::string_view text, size_t columns);
// The same, filled with spaces to that width.
std::string fitted(std::string_view text, size_t columns);
// A line that ends at `columns`.
Line cut(const Line& line, size_t columns);

// A line as several ones that are no wider than `columns`; those after the first are indented.
std::vector<Line> broken(const Line& line, size_t columns, size_t indent);

// The text of a Page with colours, as lines with styles. What is too wide is broken.
std::vector<Line> lines_of(const std::string& page, size_t columns);

// Every place of `part` in the line gets Style::found. Case counts where `part` has capital letters.
Line with_found(const Line& line, const std::string& part);
// Where `part` begins in `text` from `from` on; npos: nowhere.
size_t find_text(const std::string& text, const std::string& part, size_t from = 0);

}  // namespace diogenes::explorer
