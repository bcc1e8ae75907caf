// What was typed at the terminal while the first run had it, for later runs. In memory, and in the session's file
// `terminal`, which its owner alone can read (mode 0600): what is typed may be nobody else's business.
//
// A piece is what the program was handed at one time, as it was typed: with the keys that edit a line, end the input
// (Ctrl-D) or draw a menu, without those that send a signal. What is typed while the terminal reads whole lines and
// shows nothing is a password: it is played back from memory, and never written to the file. A session that lacks one
// cannot be resumed. A program that reads a password key by key cannot be told from an editor: that is written.
//
// The file: a line with its name and version, a line `look` with the terminal's size and modes, a line a piece:
//   typed AFTER_NS lines|keys asked|unasked HEX, or: secret AFTER_NS
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "launcher/terminal/pseudo_terminal.h"

namespace diogenes::launcher {

struct TypedPiece {
  Nanoseconds after;  // since the piece before it, or the start of the program
  bool lines = true;  // the terminal read lines then; else keys
  bool secret = false;
  bool asked = true;  // the program stood still for it; else it looks for input now and then
  std::string bytes;
};

class TypedInput {
 public:
  static constexpr const char* kFile = "terminal";

  explicit TypedInput(const TerminalLook& look) : look_(look) {}
  ~TypedInput();
  TypedInput(const TypedInput&) = delete;
  TypedInput& operator=(const TypedInput&) = delete;

  // From now on each piece goes to `file`, too. False: it cannot be written.
  bool keep_in(const std::filesystem::path& file);
  void add(TypedPiece piece);
  void drop_last();
  // The last `bytes` of lines were not read by the program.
  void take_back(size_t bytes);

  // What keep_in() wrote, also if its end is missing. Fills `typed`; error: it is no such file.
  static Status read(const std::filesystem::path& file, TypedInput& typed);

  const TerminalLook& look() const { return look_; }
  const std::vector<TypedPiece>& pieces() const { return pieces_; }
  bool complete() const { return complete_; }  // the file holds all pieces, or none was written
  bool has_secrets() const;

  // The bytes to hand over next, from pieces [at, ...): one line, or the keys of one piece. `at` goes to what follows.
  std::string next(size_t& at) const;

 private:
  void write_again();
  void write_line(const std::string& line);
  void write_piece(const TypedPiece& piece);

  TerminalLook look_;
  std::vector<TypedPiece> pieces_;
  int fd_ = -1;
  bool complete_ = true;
};

}  // namespace diogenes::launcher
