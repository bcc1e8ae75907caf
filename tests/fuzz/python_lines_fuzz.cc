// The lines of Python's line tables (analysis/symbols/python_lines.h). The input is two bytes of version, two
// of the first line, two of the instruction, then the table.
#include <cstring>

#include "analysis/symbols/python_lines.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  uint16_t head[3];
  if (bytes.size() < sizeof head) return;
  memcpy(head, bytes.data(), sizeof head);
  CodeTable::Code code;
  code.version = static_cast<uint16_t>(0x0308 + head[0] % 8);
  code.first_line = head[1];
  code.lines = bytes.subspan(sizeof head);
  const PythonPosition position = position_of(code, head[2]);
  require(position.column >= -1 && position.end_column >= -1, "a column is told or not");
  require(position == position_of(code, head[2]), "the same instruction has the same position");
  require(place_identity(code, head[2]) == place_identity(code, head[2]), "and is the same place");
}

}  // namespace diogenes::fuzz
