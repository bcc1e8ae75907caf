// What a corrector counted (launcher/prove/corrections_reader.h): any bytes, of one process and of two.
#include "launcher/prove/corrections_reader.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  for (const char* process : {"node-1", "node-2"}) {
    const std::filesystem::path folder = scratch_folder() / process;
    std::filesystem::create_directory(folder);
    write_file(folder / "corrections", bytes);
  }
  launcher::CountsOfRun counts = launcher::read_counts(scratch_folder());
  require(counts.by_site.size() <= kMostCorrectedSites, "no more sites than a plan has");
  const uint64_t calls = counts.all_sites().calls;
  counts.add(launcher::CountsOfRun(counts));
  require(counts.all_sites().calls == 2 * calls, "counts add up");
}

}  // namespace diogenes::fuzz
