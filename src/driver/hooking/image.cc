#include "driver/hooking/image.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/range.h"
#include "driver/hooking/eh_frame.h"

namespace diogenes {

// The file's bytes, which libelf maps, or a vector (tests), and libelf's view of them.
struct Image::Storage {
  std::vector<uint8_t> owned;
  Elf* elf = nullptr;

  Storage() { elf_version(EV_CURRENT); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() { elf_end(elf); }
  std::span<const uint8_t> bytes() const {
    size_t size = 0;
    const char* begin = elf == nullptr ? nullptr : elf_rawfile(elf, &size);
    if (begin == nullptr) return {};
    return {reinterpret_cast<const uint8_t*>(begin), size};
  }
};

// Fills an Image from the file. libelf reads headers, notes and symbols, and knows where the file ends; bytes are taken
// through in_file(), which knows it, too.
class ImageReader {
 public:
  explicit ImageReader(Image* image)
      : image_(*image), elf_(image->storage_->elf), file_(image->storage_->bytes()) {}

  Status read() {
    if (Status identity = read_identity(); !identity) return identity;
    read_segments();
    if (image_.segments_.empty()) return fault("has no loadable segment; is it cut off?");
    if (elf_nextscn(elf_, nullptr) == nullptr) return fault("has no table of sections; is it cut off?");
    read_exports();
    read_functions();
    return Done{};
  }

  Status read_identity() {
    GElf_Ehdr header;
    if (elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header) == nullptr) return fault("is no ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
      return fault("is not for x86-64; only that processor is supported");
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return fault("has program headers of an unknown size");
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) count = 0;
    GElf_Phdr program;
    for (size_t i = 0; i < count && gelf_getphdr(elf_, static_cast<int>(i), &program) != nullptr; ++i)
      programs_.push_back(program);
    read_build_id();
    return Done{};
  }

 private:
  Error fault(const char* what) const { return error("%s %s", image_.path_.c_str(), what); }

  std::span<const uint8_t> in_file(uint64_t position, uint64_t length) const {
    if (position > file_.size()) return {};
    return file_.subspan(position, std::min<uint64_t>(length, file_.size() - position));
  }
  std::span<const uint8_t> in_file(const GElf_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return in_file(section.sh_offset, section.sh_size);
  }
  // Calls `matches(header, section)` for each section until it returns true.
  template <typename Matches>
  void find_section(Matches matches) const {
    GElf_Shdr header;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;)
      if (gelf_getshdr(section, &header) != nullptr && matches(header, section)) return;
  }

  void read_segments() {
    uint64_t base = UINT64_MAX;
    for (const GElf_Phdr& program : programs_)
      if (program.p_type == PT_LOAD) base = std::min(base, program.p_vaddr & ~(uint64_t{kPageSize} - 1));
    image_.image_base_ = base;
    for (const GElf_Phdr& program : programs_) {
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
    for (const GElf_Phdr& program : programs_) {
      if (program.p_type != PT_NOTE) continue;
      const size_t length = in_file(program.p_offset, program.p_filesz).size();
      if (length == 0) continue;
      Elf_Data* notes = elf_getdata_rawchunk(elf_, static_cast<int64_t>(program.p_offset), length,
                                             program.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
      if (notes == nullptr) continue;
      GElf_Nhdr note;
      size_t name, contents;
      for (size_t at = 0; (at = gelf_getnote(notes, at, &note, &name, &contents)) != 0;) {
        const auto* bytes = static_cast<const uint8_t*>(notes->d_buf);
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(bytes + name, "GNU", 4) != 0)
          continue;
        image_.build_id_.length = static_cast<uint8_t>(std::min<size_t>(note.n_descsz, 20));
        memcpy(image_.build_id_.bytes.data(), bytes + contents, image_.build_id_.length);
        return;
      }
    }
  }

  void read_exports() {
    Elf_Data* symbols = nullptr;
    std::span<const uint8_t> names;
    find_section([&](const GElf_Shdr& header, Elf_Scn* section) {
      GElf_Shdr strings;
      if (header.sh_type != SHT_DYNSYM || gelf_getshdr(elf_getscn(elf_, header.sh_link), &strings) == nullptr)
        return false;
      symbols = elf_getdata(section, nullptr);
      names = in_file(strings);
      return true;
    });
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(symbols, i, &symbol) != nullptr; ++i) {
      const int type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
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

  void read_functions() {
    GElf_Shdr names;
    size_t names_index = 0;
    if (elf_getshdrstrndx(elf_, &names_index) != 0 ||
        gelf_getshdr(elf_getscn(elf_, names_index), &names) == nullptr)
      return;
    std::vector<FunctionBounds> bounds;
    find_section([&](const GElf_Shdr& header, Elf_Scn*) {
      const auto name = in_file(names.sh_offset + header.sh_name, sizeof ".eh_frame");
      if (name.size() != sizeof ".eh_frame" || memcmp(name.data(), ".eh_frame", name.size()) != 0)
        return false;
      bounds = parse_eh_frame(in_file(header), header.sh_addr);
      return true;
    });
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

  Image& image_;
  Elf* elf_;
  std::span<const uint8_t> file_;
  std::vector<GElf_Phdr> programs_;
};

Result<std::shared_ptr<const Image::Storage>> Image::map(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return error("%s cannot be read: %s", path.c_str(), strerror(errno));
  auto storage = std::make_shared<Storage>();
  storage->elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
  const bool read = !storage->bytes().empty();  // all of it, where it cannot be mapped
  close(file);
  if (!read) return error("%s cannot be read: it is empty, or no file", path.c_str());
  return std::shared_ptr<const Storage>(std::move(storage));
}

Result<Image> Image::open(const std::filesystem::path& path) {
  auto storage = map(path);
  if (!storage) return storage.error();
  return from_storage(std::move(*storage), path.string());
}

Result<BuildId> build_id_of(const std::filesystem::path& path) {
  auto storage = Image::map(path);
  if (!storage) return storage.error();
  Image image;
  image.path_ = path.string();
  image.storage_ = std::move(*storage);
  if (auto read = ImageReader(&image).read_identity(); !read) return read.error();
  return image.build_id_;
}

Result<Image> Image::from_bytes(std::vector<uint8_t> bytes, std::string name) {
  auto storage = std::make_shared<Storage>();
  storage->owned = std::move(bytes);
  storage->elf = elf_memory(reinterpret_cast<char*>(storage->owned.data()), storage->owned.size());
  return from_storage(std::move(storage), std::move(name));
}

Result<Image> Image::from_storage(std::shared_ptr<const Storage> storage, std::string name) {
  Image image;
  image.path_ = std::move(name);
  image.storage_ = std::move(storage);
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
