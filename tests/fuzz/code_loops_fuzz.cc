// Loops of the code of an ELF file (analysis/samples/code_loops.h).
#include "analysis/samples/code_loops.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::filesystem::path file = scratch_folder() / "program";
  write_file(file, bytes);
  CodeLoops loops(file);
  require(loops.innermost(UINT64_MAX) == loops.innermost(UINT64_MAX), "asked again, it is the same loop");
  const auto image = Image::open(file);
  if (!image) return;
  size_t functions = 0;
  for (const Image::Function& function : image->functions()) {
    if (++functions > 16) break;  // of a damaged file each may be as large as all of it
    for (uint64_t i = 0; i < function.size && i < 1024; ++i) {
      const uint64_t address = image->image_base() + function.offset + i;
      const CodeLoop* loop = loops.innermost(address);
      if (!loop) continue;
      require(loop->contains(address) && loop->contains(loop->head), "it contains what it is found by");
      require(loop->lowest <= loop->head && loop->head < loop->highest, "its head lies within it");
      require(loop->depth > 0 && loops.innermost(loop->head) == loop, "around its head it is the innermost");
    }
  }
}

}  // namespace diogenes::fuzz
