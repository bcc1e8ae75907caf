#include "target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace diogenes::fuzz {

void require(bool condition, const char* sentence) {
  if (condition) return;
  fprintf(stderr, "not as it must be: %s\n", sentence);
  abort();
}

const std::filesystem::path& scratch_folder() {
  static const struct Scratch {
    Scratch() {
      std::string pattern = (std::filesystem::temp_directory_path() / "diogenes-fuzz-XXXXXX").string();
      require(mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
      path = pattern;
    }
    ~Scratch() {
      std::error_code failed;
      std::filesystem::remove_all(path, failed);
    }
    std::filesystem::path path;
  } scratch;
  return scratch.path;
}

void write_file(const std::filesystem::path& file, std::span<const uint8_t> bytes) {
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  require(fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "a temporary file can be written");
  close(fd);
}

}  // namespace diogenes::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diogenes::fuzz::run_on({data, size});
  return 0;
}
