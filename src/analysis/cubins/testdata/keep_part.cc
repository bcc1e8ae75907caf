// keep_part FROM TO: a copy of a cubin with the part that the analysis reads. For make-cubins.sh.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "driver/cubin_file.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream from(argv[1], std::ios::binary);
  std::ofstream to(argv[2], std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(from), {}};
  const auto file = diogenes::CubinFile::read(bytes);
  const diogenes::Status written = file ? file->write_kept_part([&](std::span<const uint8_t> part) {
    return !!to.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  })
                                        : diogenes::Status(file.error());
  if (!written) fprintf(stderr, "%s: %s\n", argv[1], written.error().c_str());
  return written ? 0 : 1;
}
