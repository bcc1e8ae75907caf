#include "launcher/terminal/typed_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace diogenes::launcher {
namespace {

constexpr const char* kFirstLine = "diogenes-terminal/1";

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> bytes_of(const std::string& hex) {
  std::string bytes;
  if (hex.size() % 2 != 0) return {};
  for (size_t at = 0; at < hex.size(); at += 2) {
    unsigned value = 0;
    const char* begin = hex.data() + at;
    auto [end, wrong] = std::from_chars(begin, begin + 2, value, 16);
    if (wrong != std::errc{} || end != begin + 2) return {};
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::string look_line(const TerminalLook& look) {
  const termios& modes = look.modes;
  return fmt::format("look {} {} {} {} {} {} {}", look.size.ws_row, look.size.ws_col, modes.c_iflag,
                     modes.c_oflag, modes.c_cflag, modes.c_lflag,
                     hex_of({reinterpret_cast<const char*>(modes.c_cc), sizeof modes.c_cc}));
}

bool read_look(std::istringstream& fields, TerminalLook& look) {
  termios& modes = look.modes;
  std::string keys;
  if (!(fields >> look.size.ws_row >> look.size.ws_col >> modes.c_iflag >> modes.c_oflag >> modes.c_cflag >>
        modes.c_lflag >> keys))
    return false;
  std::optional<std::string> bytes = bytes_of(keys);
  if (!bytes || bytes->size() != sizeof modes.c_cc) return false;
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(modes.c_cc));
  return true;
}

std::optional<TypedPiece> read_piece(const std::string& word, std::istringstream& fields) {
  TypedPiece piece;
  piece.secret = word == "secret";
  if ((!piece.secret && word != "typed") || !(fields >> piece.after.count)) return {};
  if (piece.secret) return piece;
  std::string kind, asked, hex;
  if (!(fields >> kind >> asked >> hex)) return {};
  std::optional<std::string> bytes = bytes_of(hex);
  if (!bytes) return {};
  piece.lines = kind == "lines";
  piece.asked = asked == "asked";
  piece.bytes = std::move(*bytes);
  return piece;
}

}  // namespace

TypedInput::~TypedInput() {
  if (fd_ >= 0) close(fd_);
}

bool TypedInput::keep_in(const std::filesystem::path& file) {
  fd_ = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  complete_ = fd_ >= 0;
  write_line(kFirstLine);
  write_line(look_line(look_));
  return complete_;
}

void TypedInput::write_line(const std::string& line) {
  if (fd_ < 0) return;
  const std::string text = line + '\n';
  if (write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  complete_ = false;  // disk full: what is in memory is played back all the same
  close(std::exchange(fd_, -1));
}

void TypedInput::write_piece(const TypedPiece& piece) {
  write_line(piece.secret
                 ? fmt::format("secret {}", piece.after.count)
                 : fmt::format("typed {} {} {} {}", piece.after.count, piece.lines ? "lines" : "keys",
                               piece.asked ? "asked" : "unasked", hex_of(piece.bytes)));
}

void TypedInput::add(TypedPiece piece) {
  write_piece(piece);
  pieces_.push_back(std::move(piece));
}

void TypedInput::take_back(size_t bytes) {
  while (bytes > 0 && !pieces_.empty() && pieces_.back().lines) {
    std::string& last = pieces_.back().bytes;
    const size_t step = std::min(bytes, last.size());
    last.resize(last.size() - step);
    bytes -= step;
    if (last.empty()) pieces_.pop_back();
  }
  write_again();
}

void TypedInput::drop_last() {
  pieces_.pop_back();
  write_again();
}

void TypedInput::write_again() {
  if (fd_ < 0 || ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return;
  write_line(kFirstLine);
  write_line(look_line(look_));
  for (const TypedPiece& piece : pieces_) write_piece(piece);
}

Status TypedInput::read(const std::filesystem::path& file, TypedInput& typed) {
  std::ifstream lines(file);
  std::string line, word;
  if (!std::getline(lines, line)) return error("%s cannot be read; begin a new session", file.c_str());
  std::istringstream look;
  if (line == kFirstLine && std::getline(lines, line)) look.str(line);
  if (!(look >> word) || word != "look" || !read_look(look, typed.look_))
    return error("%s is damaged; begin a new session", file.c_str());
  while (std::getline(lines, line) && !lines.eof()) {  // a line without its end was cut
    std::istringstream fields(line);
    fields >> word;
    std::optional<TypedPiece> piece = read_piece(word, fields);
    if (!piece) return error("%s is damaged; begin a new session", file.c_str());
    typed.pieces_.push_back(std::move(*piece));
  }
  return Done{};
}

bool TypedInput::has_secrets() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const TypedPiece& piece) { return piece.secret; });
}

std::string TypedInput::next(size_t& at) const {
  std::string bytes;
  const char end_of_input = static_cast<char>(look_.modes.c_cc[VEOF]);
  const char stop = static_cast<char>(look_.modes.c_cc[VSUSP]);
  while (at < pieces_.size()) {
    const TypedPiece& piece = pieces_[at];
    if (!bytes.empty() && (!piece.lines || piece.bytes == std::string(1, stop))) return bytes;
    bytes += piece.bytes;
    ++at;
    if (!piece.lines || bytes.empty()) return bytes;
    if (const char last = bytes.back(); last == '\n' || last == '\r' || last == end_of_input || last == stop)
      return bytes;
  }
  return bytes;
}

}  // namespace diogenes::launcher
