#include "agent/hooks/driver_locks.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "base/range.h"

namespace diogenes::agent {
namespace {

void bind(uintptr_t slot, AddressRange read_only) {
  auto* function = reinterpret_cast<uintptr_t*>(slot);
  const uintptr_t libcs = libcs_lock_function(__atomic_load_n(function, __ATOMIC_RELAXED));
  if (libcs == 0) return;
  void* page = reinterpret_cast<void*>(slot & ~(kPageSize - 1));
  if (read_only.contains(slot) && mprotect(page, kPageSize, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(function, libcs, __ATOMIC_RELAXED);
  if (read_only.contains(slot)) mprotect(page, kPageSize, PROT_READ);
}

}  // namespace

void bind_locks_of(const LoadedImage& library) {
  const ElfW(Dyn)* dynamic = nullptr;
  AddressRange read_only;
  for (int i = 0; i < library.header_count; ++i) {
    const auto& header = library.headers[i];
    if (header.p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(library.bias + header.p_vaddr);
    if (header.p_type == PT_GNU_RELRO)
      read_only = AddressRange::of(library.bias + header.p_vaddr, header.p_memsz);
  }
  if (!dynamic) return;
  // As the dynamic linker has it: of the last page only what is behind it is left writable.
  read_only = {read_only.begin & ~(kPageSize - 1), read_only.end & ~(kPageSize - 1)};
  struct Table {
    uintptr_t begin = 0, bytes = 0;
  } by_call, others;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_JMPREL) by_call.begin = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_PLTRELSZ) by_call.bytes = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_RELA) others.begin = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_RELASZ) others.bytes = dynamic->d_un.d_val;
  }
  for (const Table& table : {by_call, others}) {
    // The dynamic linker adds the bias to it in place.
    const uintptr_t begin = table.begin < library.bias ? library.bias + table.begin : table.begin;
    const auto* entry = reinterpret_cast<const ElfW(Rela)*>(begin);
    for (const auto* end = entry + table.bytes / sizeof *entry; entry < end; ++entry) {
      const auto type = ELF64_R_TYPE(entry->r_info);
      if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
        bind(library.bias + entry->r_offset, read_only);
    }
  }
}

}  // namespace diogenes::agent
