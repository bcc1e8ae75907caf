// The session's file `terminal` (launcher/terminal/typed_input.h), as `run --resume` reads it.
#include "launcher/terminal/typed_input.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::filesystem::path file = scratch_folder() / launcher::TypedInput::kFile;
  write_file(file, bytes);
  launcher::TypedInput typed(launcher::look_of(-1));
  if (!launcher::TypedInput::read(file, typed)) return;
  size_t typed_bytes = 0, handed_over = 0;
  for (const launcher::TypedPiece& piece : typed.pieces()) typed_bytes += piece.bytes.size();
  for (size_t at = 0; at < typed.pieces().size();) handed_over += typed.next(at).size();
  require(handed_over == typed_bytes, "all that was typed is handed over, once");
}

}  // namespace diogenes::fuzz
