// A page of plain text: lines of a width, words that wrap, labels in a column, colours where they are wanted.
#pragma once
#include <string>

namespace diogenes {

class Page {
 public:
  static constexpr int kNarrowest = 72;  // what is narrower is left to the terminal to wrap, usually
  static constexpr int kLabel = 9;       // width of the labels' column

  Page(int width, bool color, int narrowest = kNarrowest)
      : width_(width < narrowest ? narrowest : width), color_(color) {}

  std::string bold(const std::string& text) const { return styled("1", text); }
  std::string faint(const std::string& text) const { return styled("2", text); }
  std::string gain(const std::string& text) const { return styled("1;32", text); }
  std::string warning(const std::string& text) const { return styled("1;33", text); }

  // A line as it is; spaces at its end go.
  void line(const std::string& text = "");

  // `text` broken between words, each line after the first indented by `indent`. `first` stands before the first, and
  // is taken to be `indent` wide.
  void wrapped(const std::string& first, size_t indent, const std::string& text);

  // A label in its column, and the text beside it.
  void labelled(size_t indent, const std::string& label, const std::string& text);

  size_t width() const { return static_cast<size_t>(width_); }
  size_t lines() const { return lines_; }
  const std::string& text() const { return text_; }

 private:
  std::string styled(const char* code, const std::string& text) const {
    return color_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
  }

  int width_;
  bool color_;
  size_t lines_ = 0;
  std::string text_;
};

}  // namespace diogenes
