#include "agent/core/recording/elf_image.h"

#include <algorithm>
#include <cstring>

namespace diogenes::agent {

namespace {

AddressRange segments(const LoadedImage& image, uint32_t wanted_flags) {
  AddressRange range{UINTPTR_MAX, 0};
  for (int i = 0; i < image.header_count; ++i) {
    const auto& header = image.headers[i];
    if (header.p_type != PT_LOAD || (header.p_flags & wanted_flags) != wanted_flags) continue;
    range.begin = std::min<uintptr_t>(range.begin, image.bias + header.p_vaddr);
    range.end = std::max<uintptr_t>(range.end, image.bias + header.p_vaddr + header.p_memsz);
  }
  return range.begin == UINTPTR_MAX ? AddressRange{} : range;
}

// Within what was mapped of the file. The linker needs no notes, so they may be said to lie where nothing is.
bool is_mapped(const LoadedImage& image, AddressRange bytes) {
  for (int i = 0; i < image.header_count; ++i) {
    const auto& header = image.headers[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_R)) continue;
    const AddressRange part = AddressRange::of(image.bias + header.p_vaddr, header.p_filesz);
    if (bytes.begin >= part.begin && bytes.end <= part.end && bytes.begin <= bytes.end) return true;
  }
  return false;
}

uint32_t gnu_hash(const char* name) {
  uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

}  // namespace

AddressRange LoadedImage::range() const { return segments(*this, 0); }
AddressRange LoadedImage::code() const { return segments(*this, PF_X); }

BuildId LoadedImage::build_id() const {
  BuildId id;
  for (int i = 0; i < header_count; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    const AddressRange notes = AddressRange::of(bias + headers[i].p_vaddr, headers[i].p_filesz);
    if (!is_mapped(*this, notes)) continue;
    auto* note = reinterpret_cast<const uint8_t*>(notes.begin);
    auto* end = note + notes.size();
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note);
      auto* name = note + sizeof *header;
      auto* content = name + ((header->n_namesz + 3) & ~3u);
      if (content + header->n_descsz > end) break;
      if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        id.length = static_cast<uint8_t>(std::min<uint32_t>(header->n_descsz, 20));
        memcpy(id.bytes.data(), content, id.length);
        return id;
      }
      note = content + ((header->n_descsz + 3) & ~3u);
    }
  }
  return id;
}

uintptr_t LoadedImage::symbol(const char* name) const {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < header_count; ++i)
    if (headers[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(bias + headers[i].p_vaddr);
  if (!dynamic) return 0;
  // The dynamic linker adds the bias to these in place on x86-64; before it has, they are plain offsets.
  auto address = [this](uintptr_t value) { return value < bias ? bias + value : value; };
  const uint32_t* table = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_GNU_HASH)
      table = reinterpret_cast<const uint32_t*>(address(dynamic->d_un.d_ptr));
    if (dynamic->d_tag == DT_SYMTAB)
      symbols = reinterpret_cast<const ElfW(Sym)*>(address(dynamic->d_un.d_ptr));
    if (dynamic->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address(dynamic->d_un.d_ptr));
  }
  if (!table || !symbols || !strings) return 0;
  uint32_t buckets = table[0], first = table[1], bloom_words = table[2];
  auto* bucket = table + 4 + bloom_words * 2;  // 64-bit bloom words
  auto* chain = bucket + buckets;
  uint32_t hash = gnu_hash(name);
  uint32_t index = buckets ? bucket[hash % buckets] : 0;
  if (index < first) return 0;
  for (;; ++index) {
    uint32_t entry = chain[index - first];
    if ((entry | 1) == (hash | 1) && strcmp(strings + symbols[index].st_name, name) == 0 &&
        symbols[index].st_shndx != SHN_UNDEF)
      return bias + symbols[index].st_value;
    if (entry & 1) return 0;
  }
}

void for_each_image(void (*visit)(const LoadedImage&, void*), void* data) {
  struct Context {
    void (*visit)(const LoadedImage&, void*);
    void* data;
  } context{visit, data};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* opaque) {
        auto* caller = static_cast<Context*>(opaque);
        LoadedImage image{info->dlpi_name ? info->dlpi_name : "", info->dlpi_addr, info->dlpi_phdr,
                          info->dlpi_phnum};
        caller->visit(image, caller->data);
        return 0;
      },
      &context);
}

}  // namespace diogenes::agent
