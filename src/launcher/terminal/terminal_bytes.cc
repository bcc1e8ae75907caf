#include "launcher/terminal/terminal_bytes.h"

#include <curses.h>
#include <term.h>

namespace diogenes::launcher {
namespace {

// tputs() wants a function of one character.
std::string put;
int put_character(int character) {
  put += static_cast<char>(character);
  return character;
}

}  // namespace

std::string restoring_bytes() {
  put.clear();
  for (const char* bytes : {exit_attribute_mode, cursor_normal, keypad_local, exit_ca_mode})
    if (bytes) ::tputs(bytes, 1, put_character);
  return put;
}

}  // namespace diogenes::launcher
