#include "analysis/program/gpu_code.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace diogenes {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr size_t kAlignment = 8;
constexpr uint16_t kPtx = 1, kCubin = 2;
constexpr uint64_t kArchitectureSpecific = 1 << 20, kFamilySpecific = 1 << 21;  // of Entry::flags

struct Container {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of the entries
};

struct Entry {
  uint16_t kind, unknown;
  uint32_t header_bytes;
  uint64_t bytes;  // of the code behind the header
  uint32_t compressed_bytes, options;
  uint16_t minor_version, major_version;
  uint32_t architecture;
  uint32_t name, name_bytes;
  uint64_t flags;
};
static_assert(sizeof(Container) == 16 && sizeof(Entry) == 48);

class CodeInMemory {
 public:
  explicit CodeInMemory(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool read(uint64_t at, void* to, size_t count) {
    memcpy(to, bytes_.data() + at, count);
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
};

// A part of a file. Of gigabytes of code some thousand headers are read, and no more: memory that is mapped brings what lies around
// them from the disk, too.
class CodeInFile {
 public:
  CodeInFile(int file, uint64_t begin) : file_(file), begin_(begin) {
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  }
  bool read(uint64_t at, void* to, size_t count) {
    if (at < window_ || at + count > window_ + there_) {
      const ssize_t got = pread(file_, bytes_.data(), bytes_.size(), static_cast<off_t>(begin_ + at));
      window_ = at;
      there_ = got < 0 ? 0 : static_cast<size_t>(got);
      if (there_ < count) return false;
    }
    memcpy(to, bytes_.data() + (at - window_), count);
    return true;
  }

 private:
  int file_;
  uint64_t begin_, window_ = 0;  // `window_`: where what was read last begins
  size_t there_ = 0;
  std::array<uint8_t, 512> bytes_;
};

template <typename Bytes>
FatBinary entries_of(Bytes& bytes, uint64_t at, uint64_t end) {
  FatBinary codes;
  while (end - at >= sizeof(Entry)) {
    Entry entry;
    if (!bytes.read(at, &entry, sizeof entry)) break;
    if (entry.header_bytes < sizeof entry || entry.header_bytes > end - at) break;
    if ((entry.kind == kPtx || entry.kind == kCubin) && entry.architecture < 10'000) {
      const auto reach = (entry.flags & kArchitectureSpecific) != 0 ? GpuCode::Reach::exact
                         : (entry.flags & kFamilySpecific) != 0     ? GpuCode::Reach::family
                                                                    : GpuCode::Reach::portable;
      codes.push_back({entry.kind == kPtx, static_cast<int>(entry.architecture), reach});
    }
    at += entry.header_bytes;
    if (entry.bytes > end - at) break;
    at += entry.bytes;
  }
  return codes;
}

template <typename Bytes>
std::vector<FatBinary> binaries_of(Bytes bytes, uint64_t end) {
  std::vector<FatBinary> binaries;
  for (uint64_t at = 0; end - at >= sizeof(Container);) {
    Container container;
    if (!bytes.read(at, &container, sizeof container)) break;
    if (container.magic != kMagic || container.header_bytes < sizeof container ||
        container.header_bytes > end - at) {
      at += std::min<uint64_t>(kAlignment, end - at);
      continue;
    }
    at += container.header_bytes;
    const uint64_t length = std::min<uint64_t>(container.bytes, end - at);
    if (FatBinary codes = entries_of(bytes, at, at + length); !codes.empty())
      binaries.push_back(std::move(codes));
    at += length;
  }
  return binaries;
}

}  // namespace

bool GpuCode::runs_on(ComputeCapability gpu) const {
  const int wanted = 10 * gpu.major + gpu.minor;
  if (reach == Reach::exact) return architecture == wanted;
  if (ptx && reach == Reach::portable) return architecture <= wanted;
  return architecture / 10 == gpu.major && architecture <= wanted;
}

std::string GpuCode::name() const {
  const char* suffix = reach == Reach::exact ? "a" : reach == Reach::family ? "f" : "";
  return (ptx ? "compute_" : "sm_") + std::to_string(architecture) + suffix;
}

std::vector<FatBinary> fat_binaries_of(std::span<const uint8_t> section) {
  return binaries_of(CodeInMemory(section), section.size());
}

Result<std::vector<FatBinary>> read_fat_binaries(const std::filesystem::path& file) {
  elf_version(EV_CURRENT);
  const auto close_file = [](const int* fd) { close(*fd); };
  int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return error("%s: cannot be read: %s", file.c_str(), strerror(errno));
  const std::unique_ptr<int, decltype(close_file)> closing(&opened, close_file);
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(opened, ELF_C_READ, nullptr), elf_end);
  struct stat status {};
  size_t names = 0;
  if (fstat(opened, &status) != 0 || !elf || elf_kind(elf.get()) != ELF_K_ELF ||
      elf_getshdrstrndx(elf.get(), &names) != 0)
    return error("%s: not an ELF file with sections", file.c_str());
  std::vector<FatBinary> binaries;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    const char* name = elf_strptr(elf.get(), names, header.sh_name);
    if (!name || strcmp(name, ".nv_fatbin") != 0) continue;
    const auto file_bytes = static_cast<uint64_t>(status.st_size);
    if (header.sh_type == SHT_NOBITS || header.sh_offset > file_bytes ||
        header.sh_size > file_bytes - header.sh_offset)
      continue;
    auto found = binaries_of(CodeInFile(opened, header.sh_offset), header.sh_size);
    std::move(found.begin(), found.end(), std::back_inserter(binaries));
  }
  return binaries;
}

GpuCodeFit fit_of(const std::vector<FatBinary>& binaries, ComputeCapability gpu) {
  GpuCodeFit fit;
  for (const FatBinary& binary : binaries) {
    const auto any = [&](bool ptx) {
      return std::any_of(binary.begin(), binary.end(),
                         [&](const GpuCode& code) { return code.ptx == ptx && code.runs_on(gpu); });
    };
    if (any(false)) {
      ++fit.native;
    } else if (!any(true)) {
      ++fit.neither;
    } else {
      ++fit.compiled;
      for (const GpuCode& code : binary)
        if (std::find(fit.built_for.begin(), fit.built_for.end(), code.name()) == fit.built_for.end())
          fit.built_for.push_back(code.name());
    }
  }
  return fit;
}

std::string advice_for_file(bool own, ComputeCapability gpu) {
  return own ? "compile with " + compiler_options_for(gpu)
             : "a newer version of this library may have code for this GPU";
}

std::string compiler_options_for(ComputeCapability gpu) {
  const std::string number = std::to_string(10 * gpu.major + gpu.minor);
  return "-gencode arch=compute_" + number + ",code=sm_" + number +
         " (CMake: CMAKE_CUDA_ARCHITECTURES=" + number + ")";
}

}  // namespace diogenes
