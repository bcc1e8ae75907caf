// A loaded ELF file as it lies in this process: its build-id and its dynamic symbols, read from memory
// without the dynamic linker's help, so that it works inside its notifications too.
#pragma once
#include <link.h>

#include <cstdint>

#include "base/build_id.h"
#include "base/range.h"

namespace diogenes::agent {

struct LoadedImage {
  const char* path = nullptr;  // as the dynamic linker knows it; "" for the executable
  uintptr_t bias = 0;          // address - bias = virtual address in the file
  const ElfW(Phdr) * headers = nullptr;
  int header_count = 0;

  AddressRange range() const;  // from the first to the last loaded segment
  AddressRange code() const;   // the executable segments
  BuildId build_id() const;
  // The address of an exported symbol's default version, or 0.
  uintptr_t symbol(const char* name) const;
};

// Calls visit(image, data) for every loaded file.
void for_each_image(void (*visit)(const LoadedImage&, void*), void* data);

}  // namespace diogenes::agent
