// Prints the table of one version, as testdata/offsets.c prints what its headers say. Usage:
// print_layout 3.11
#include <cstdio>
#include <cstdlib>

#include "python/layout.h"

int main(int, char** arguments) {
  const auto minor = static_cast<uint32_t>(atoi(arguments[1] + 2));
  const diogenes::python::Layout at = diogenes::python::layout_from_table(0x0300 | minor);
  if (!at.known()) return 1;
  const bool newer = minor >= 11;
#define SAY(name) printf(#name " %u\n", static_cast<unsigned>(at.name))
  SAY(finalizing), SAY(interpreters), SAY(thread_id), SAY(frame);
  if (newer) SAY(cframe_frame);
  SAY(previous), SAY(code), SAY(instruction);
  if (newer) SAY(owner);
  if (minor == 11) SAY(is_entry);
  if (newer) SAY(units), SAY(instructions);
  SAY(name), SAY(type), SAY(file), SAY(lines), SAY(first_line), SAY(text_length), SAY(text_state);
  SAY(ascii_bytes), SAY(compact_bytes), SAY(bytes_length), SAY(bytes_data);
  return 0;
}
