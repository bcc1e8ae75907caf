#include "driver/hooking/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/range.h"
#include "driver/hooking/eh_frame.h"

namespace diogenes {

// The file's bytes: a private mapping, or a vector (tests).
struct Image::Storage {
  std::vector<uint8_t> owned;
  void* mapping = MAP_FAILED;
  size_t mapped_bytes = 0;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (mapping != MAP_FAILED) munmap(mapping, mapped_bytes);
  }
  std::span<const uint8_t> bytes() const {
    if (mapping != MAP_FAILED) return {static_cast<const uint8_t*>(mapping), mapped_bytes};
    return owned;
  }
};

// Fills an Image from the file's bytes. Every read goes through at() or bytes_at(), which know where the file
// ends.
class ImageReader {
 public:
  explicit ImageReader(Image* image) : image_(*image), file_(image->storage_->bytes()) {}

  Status read() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return fault("is no ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
      return fault("is not for x86-64; only that processor is supported");
    if (header->e_phentsize != sizeof(Elf64_Phdr)) return fault("has program headers of an unknown size");
    for (unsigned i = 0; i < header->e_phnum; ++i)
      if (const auto program = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr)))
        programs_.push_back(*program);
    read_segments();
    if (image_.segments_.empty()) return fault("has no loadable segment; is it cut off?");
    read_build_id();
    read_exports();
    read_functions();
    return Done{};
  }

 private:
  Error fault(const char* what) const { return error("%s %s", image_.path_.c_str(), what); }

  template <typename T>
  std::optional<T> at(uint64_t position) const {
    if (position > file_.size() || file_.size() - position < sizeof(T)) return std::nullopt;
    T value;
    memcpy(&value, file_.data() + position, sizeof value);
    return value;
  }
  std::span<const uint8_t> in_file(uint64_t position, uint64_t length) const {
    if (position > file_.size()) return {};
    return file_.subspan(position, std::min<uint64_t>(length, file_.size() - position));
  }
  // Bytes at a virtual address, as far as there are any.
  std::span<const uint8_t> at_address(uint64_t address, uint64_t length = UINT64_MAX) const {
    return image_.bytes_at(address - image_.image_base_, length);
  }
  template <typename T>
  std::optional<T> value_at_address(uint64_t address) const {
    const auto bytes = at_address(address, sizeof(T));
    if (bytes.size() < sizeof(T)) return std::nullopt;
    T value;
    memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  void read_segments() {
    uint64_t base = UINT64_MAX;
    for (const Elf64_Phdr& program : programs_)
      if (program.p_type == PT_LOAD) base = std::min(base, program.p_vaddr & ~(uint64_t{kPageSize} - 1));
    image_.image_base_ = base;
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_LOAD || program.p_memsz > UINT64_MAX / 2) continue;
      if (program.p_vaddr - base > UINT64_MAX / 2) continue;
      image_.segments_.push_back({program.p_vaddr - base, program.p_memsz,
                                  in_file(program.p_offset, std::min(program.p_filesz, program.p_memsz)),
                                  (program.p_flags & PF_X) != 0});
    }
    std::sort(image_.segments_.begin(), image_.segments_.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }

  void read_build_id() {
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_NOTE) continue;
      const std::span<const uint8_t> notes = in_file(program.p_offset, program.p_filesz);
      const uint64_t align = program.p_align == 8 ? 8 : 4;
      const auto padded = [align](uint64_t bytes) { return (bytes + align - 1) & ~(align - 1); };
      for (uint64_t position = 0; notes.size() - position >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, notes.data() + position, sizeof note);
        const uint64_t name = position + sizeof note, contents = name + padded(note.n_namesz);
        const uint64_t next = contents + padded(note.n_descsz);
        if (next > notes.size() && contents + note.n_descsz > notes.size()) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes.data() + name, "GNU", 4) == 0) {
          image_.build_id_.length = static_cast<uint8_t>(std::min<size_t>(note.n_descsz, 20));
          memcpy(image_.build_id_.bytes.data(), notes.data() + contents, image_.build_id_.length);
          return;
        }
        if (next > notes.size()) break;
        position = next;
      }
    }
  }

  // How many symbols the dynamic table has: it does not say so itself, only its hash tables do.
  uint64_t symbol_count(uint64_t hash, uint64_t gnu_hash) const {
    if (hash != 0)
      if (const auto chains = value_at_address<uint32_t>(hash + 4)) return *chains;
    if (gnu_hash == 0) return 0;
    const auto buckets = value_at_address<uint32_t>(gnu_hash),
               first = value_at_address<uint32_t>(gnu_hash + 4),
               bloom_words = value_at_address<uint32_t>(gnu_hash + 8);
    if (!buckets || !first || !bloom_words) return 0;
    const uint64_t bucket_table = gnu_hash + 16 + uint64_t{*bloom_words} * 8;
    const uint64_t chain_table = bucket_table + uint64_t{*buckets} * 4;
    const auto bucket_bytes = at_address(bucket_table, uint64_t{*buckets} * 4);
    uint32_t last = 0;
    for (size_t i = 0; i + 4 <= bucket_bytes.size(); i += 4) {
      uint32_t bucket;
      memcpy(&bucket, bucket_bytes.data() + i, 4);
      last = std::max(last, bucket);
    }
    if (last < *first) return *first;
    for (uint64_t index = last;; ++index) {
      const auto link = value_at_address<uint32_t>(chain_table + (index - *first) * 4);
      if (!link) return index;
      if (*link & 1) return index + 1;
    }
  }

  void read_exports() {
    uint64_t symbols = 0, strings = 0, string_bytes = 0, hash = 0, gnu_hash = 0;
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_DYNAMIC) continue;
      const auto table = at_address(program.p_vaddr, program.p_memsz);
      for (size_t i = 0; i + sizeof(Elf64_Dyn) <= table.size(); i += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, table.data() + i, sizeof entry);
        switch (entry.d_tag) {
          case DT_SYMTAB:
            symbols = entry.d_un.d_ptr;
            break;
          case DT_STRTAB:
            strings = entry.d_un.d_ptr;
            break;
          case DT_STRSZ:
            string_bytes = entry.d_un.d_val;
            break;
          case DT_HASH:
            hash = entry.d_un.d_ptr;
            break;
          case DT_GNU_HASH:
            gnu_hash = entry.d_un.d_ptr;
            break;
        }
        if (entry.d_tag == DT_NULL) break;
      }
    }
    if (symbols == 0 || strings == 0) return;
    const auto names = at_address(strings, string_bytes);
    const uint64_t count = symbol_count(hash, gnu_hash);
    if (count > file_.size() / sizeof(Elf64_Sym)) return;
    const auto table = at_address(symbols, count * sizeof(Elf64_Sym));
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= table.size(); i += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, table.data() + i, sizeof symbol);
      const int type = ELF64_ST_TYPE(symbol.st_info), binding = ELF64_ST_BIND(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || symbol.st_name >= names.size()) continue;
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || binding == STB_LOCAL) continue;
      const char* name = reinterpret_cast<const char*>(names.data() + symbol.st_name);
      const size_t length = strnlen(name, names.size() - symbol.st_name);
      image_.exports_.push_back(
          {{name, length}, symbol.st_value - image_.image_base_, symbol.st_size, type == STT_GNU_IFUNC});
    }
    std::sort(image_.exports_.begin(), image_.exports_.end(), [](const auto& a, const auto& b) {
      return a.name != b.name ? a.name < b.name : a.offset < b.offset;
    });
    for (const Image::Export& exported : image_.exports_) image_.export_offsets_.push_back(exported.offset);
    std::sort(image_.export_offsets_.begin(), image_.export_offsets_.end());
  }

  // .eh_frame as .eh_frame_hdr points to it (stripped files have no sections), up to the end of its segment:
  // it ends in a terminator. Without a header: by the section table.
  void read_functions() {
    std::vector<FunctionBounds> bounds;
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_GNU_EH_FRAME) continue;
      const auto header = at_address(program.p_vaddr, program.p_memsz);
      size_t position = 4;
      uint64_t frame;
      if (header.size() > 4 && header[0] == 1 &&
          read_encoded(header, program.p_vaddr, header[1], &position, &frame))
        bounds = parse_eh_frame(at_address(frame), frame);
    }
    if (bounds.empty()) bounds = functions_by_section();
    for (const FunctionBounds& function : bounds) {
      const uint64_t offset = function.begin - image_.image_base_;
      if (function.size < UINT64_MAX / 2 && image_.executable(offset))
        image_.functions_.push_back({offset, function.size});
    }
    auto& functions = image_.functions_;
    std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.size > b.size;
    });
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [](const auto& a, const auto& b) { return a.offset == b.offset; }),
                    functions.end());
  }

  std::vector<FunctionBounds> functions_by_section() const {
    const auto header = at<Elf64_Ehdr>(0);
    if (header->e_shentsize != sizeof(Elf64_Shdr)) return {};
    const auto section = [&](uint64_t index) {
      return at<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto names = section(header->e_shstrndx);
    if (!names) return {};
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      const auto candidate = section(i);
      if (!candidate) break;
      const auto name = in_file(names->sh_offset + candidate->sh_name, 10);
      if (name.size() == 10 && memcmp(name.data(), ".eh_frame", 10) == 0 && candidate->sh_type != SHT_NOBITS)
        return parse_eh_frame(in_file(candidate->sh_offset, candidate->sh_size), candidate->sh_addr);
    }
    return {};
  }

  Image& image_;
  std::span<const uint8_t> file_;
  std::vector<Elf64_Phdr> programs_;
};

Result<Image> Image::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return error("%s cannot be read: %s", path.c_str(), strerror(errno));
  auto storage = std::make_shared<Storage>();
  struct stat status;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    storage->mapped_bytes = static_cast<size_t>(status.st_size);
    storage->mapping = mmap(nullptr, storage->mapped_bytes, PROT_READ, MAP_PRIVATE, file, 0);
  }
  const int mapping_error = errno;
  close(file);
  if (storage->mapping == MAP_FAILED)
    return error("%s cannot be mapped: %s", path.c_str(),
                 storage->mapped_bytes == 0 ? "it is empty" : strerror(mapping_error));
  Image image;
  image.path_ = path.string();
  image.storage_ = storage;
  if (auto read = ImageReader(&image).read(); !read) return read.error();
  return image;
}

Result<Image> Image::from_bytes(std::vector<uint8_t> bytes, std::string name) {
  auto storage = std::make_shared<Storage>();
  storage->owned = std::move(bytes);
  Image image;
  image.path_ = std::move(name);
  image.storage_ = storage;
  if (auto read = ImageReader(&image).read(); !read) return read.error();
  return image;
}

const Image::Export* Image::find_export(std::string_view name) const {
  const auto found =
      std::lower_bound(exports_.begin(), exports_.end(), name,
                       [](const Export& exported, std::string_view n) { return exported.name < n; });
  return found != exports_.end() && found->name == name ? &*found : nullptr;
}

bool Image::is_export(uint64_t offset) const {
  return std::binary_search(export_offsets_.begin(), export_offsets_.end(), offset);
}

const Image::Function* Image::function_after(uint64_t offset) const {
  const auto next =
      std::upper_bound(functions_.begin(), functions_.end(), offset,
                       [](uint64_t o, const Function& function) { return o < function.offset; });
  return next != functions_.end() ? &*next : nullptr;
}

const Image::Function* Image::containing_function(uint64_t offset) const {
  auto next = std::upper_bound(functions_.begin(), functions_.end(), offset,
                               [](uint64_t o, const Function& function) { return o < function.offset; });
  if (next == functions_.begin()) return nullptr;
  --next;
  return offset - next->offset < next->size ? &*next : nullptr;
}

std::span<const uint8_t> Image::bytes_at(uint64_t offset, uint64_t length) const {
  for (const Segment& segment : segments_) {
    if (offset < segment.offset || offset - segment.offset >= segment.contents.size()) continue;
    const uint64_t begin = offset - segment.offset;
    return segment.contents.subspan(begin, std::min<uint64_t>(length, segment.contents.size() - begin));
  }
  return {};
}

bool Image::executable(uint64_t offset) const {
  for (const Segment& segment : segments_)
    if (segment.executable && offset >= segment.offset && offset - segment.offset < segment.contents.size())
      return true;
  return false;
}

}  // namespace diogenes
