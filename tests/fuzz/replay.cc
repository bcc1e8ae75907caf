// NAME-replay FOLDER...: the target on each file of the folders, and on each of them cut short and with bytes
// changed, always in the same ways.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "target.h"

namespace diogenes::fuzz {
namespace {

namespace fs = std::filesystem;

void replay(const std::vector<uint8_t>& seed) {
  run_on(seed);
  constexpr int kVariants = 300;
  std::mt19937 random(static_cast<unsigned>(seed.size()));
  auto below = [&](size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random() % limit); };
  for (int variant = 0; variant < kVariants && !seed.empty(); ++variant) {
    std::vector<uint8_t> bytes = seed;
    if (below(3) == 0) bytes.resize(below(bytes.size()));
    for (size_t changes = below(8); changes > 0 && !bytes.empty(); --changes)
      // Most lengths and counts stand at the beginning.
      bytes[below(below(2) == 0 ? std::min<size_t>(bytes.size(), 256) : bytes.size())] =
          below(4) == 0 ? 0xff : static_cast<uint8_t>(random());
    run_on(bytes);
  }
}

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(argv[i])) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    for (const fs::path& file : found) {
      std::ifstream in(file, std::ios::binary);
      replay({std::istreambuf_iterator<char>(in), {}});
    }
    files += found.size();
  }
  printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}

}  // namespace
}  // namespace diogenes::fuzz

int main(int argc, char** argv) { return diogenes::fuzz::main(argc, argv); }
