// What a terminal has to be sent to be as it was. Apart from the rest, because <term.h> makes macros of common words.
#pragma once
#include <string>

namespace diogenes::launcher {

// Ends the modes that ncurses begins: the other screen, the keypad, the hidden cursor, colours. For the terminal that
// newterm() made known.
std::string restoring_bytes();

}  // namespace diogenes::launcher
