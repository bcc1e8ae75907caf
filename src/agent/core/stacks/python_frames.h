// Python's frames in stacks: read by a library of their own (src/python), where it is preloaded.
#pragma once
#include <cstdint>

#include "agent/core/recording/elf_image.h"
#include "trace/python_source.h"

namespace diogenes::agent {

// Once, before files are offered: is the library there? `extend`: stack_table.h.
void find_python_source(decltype(PythonServices::extend) extend);
// A file was loaded.
void offer_to_python(const LoadedImage& image);
// What lay here was unloaded.
void take_from_python(AddressRange unloaded);
// The stack with the frames of Python that the calling thread is in, or as it was.
uint32_t with_python_frames(uint32_t stack, bool in_signal);
// In a forked child.
void forget_python();

}  // namespace diogenes::agent
