// The key of a call site: a driver function reached over one stack, the same in every run of the same
// binaries.
#pragma once
#include <cstdint>
#include <cstring>

#include "trace/module_identity.h"

namespace diogenes {

// FNV-1a (64 bit) over the driver function's symbol, then for each frame from the innermost outside the
// driver to the outermost: the module's build-id (or its path's last component where it has none) and the
// frame's offset. Frames of Python count by file, function, line and place in the line (mixed_stack.h).
using SiteKey = uint64_t;

class SiteKeyBuilder {
 public:
  // `symbol`: of the driver function (the catalogue's index may change between versions of this tool).
  explicit SiteKeyBuilder(const char* symbol) { add_bytes(symbol, strlen(symbol)); }
  void add(uint64_t module_identity, uint64_t offset) {
    add_bytes(&module_identity, sizeof module_identity);
    add_bytes(&offset, sizeof offset);
  }
  SiteKey key() const { return hash_; }

 private:
  void add_bytes(const void* data, size_t size) {
    auto* bytes = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
  }
  uint64_t hash_ = 0xcbf29ce484222325;
};

// The key as the agent can tell it by itself, and plans name it (ffm/plan.h): without frames of Python, and without the
// interpreter's own, which reaches the same call over other functions once it has specialized its instructions.
// `module_of(frame)`: a ModuleRecord, or null.
template <typename Frames, typename ModuleOf>
SiteKey native_site_key(const char* symbol, const Frames& frames, const ModuleOf& module_of) {
  SiteKeyBuilder builder(symbol);
  for (const Frame frame : frames) {
    if (frame.module() == Frame::kPython || frame.module() == Frame::kPythonOfWaiter)
      break;  // behind all others
    const ModuleRecord* module = module_of(frame);
    if (module && is_interpreter(module->path)) continue;
    module ? builder.add(module_identity(*module), frame.offset()) : builder.add(0, 0);
  }
  return builder.key();
}

}  // namespace diogenes
