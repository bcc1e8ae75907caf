#include "agent/core/stacks/python_frames.h"

#include <cstring>

#include "agent/core/recording/process_folder.h"

namespace diogenes::agent {

namespace {

const PythonSource* source = nullptr;  // set before main

uintptr_t symbol_of(const void* image, const char* name) {
  return static_cast<const LoadedImage*>(image)->symbol(name);
}

}  // namespace

void find_python_source(decltype(PythonServices::extend) extend) {
  for_each_image(
      [](const LoadedImage& image, void*) {
        if (!strstr(image.path, "libdiogenes-")) return;
        const auto* found = reinterpret_cast<const PythonSource*>(image.symbol(kPythonSourceSymbol));
        if (found && found->bytes == sizeof *found) source = found;
      },
      nullptr);
  if (source) source->start({map_file_part, extend, symbol_of});
}

void offer_to_python(const LoadedImage& image) {
  if (source) source->loaded(&image);
}

void take_from_python(AddressRange unloaded) {
  if (source) source->unloaded(unloaded.begin, unloaded.end);
}

uint32_t with_python_frames(uint32_t stack, bool in_signal) {
  ProcessFile* process = source ? process_file() : nullptr;
  return process ? source->add(stack, in_signal, process->python) : stack;
}

void forget_python() {
  if (source) source->forget();
}

}  // namespace diogenes::agent
