// The layout of an interpreter that runs. In: its version (0x030b07f0), and where its _PyRuntime lies. Out: a Layout; not known:
// another version, or one whose own table of offsets contradicts itself.
#pragma once
#include "python/layout.h"
#include "python/memory.h"

namespace diogenes::python {

template <typename Memory>
Layout layout_of(uint32_t version, uintptr_t runtime) {
  const uint32_t minor = version >> 16;
  if (minor < 0x030d) return layout_from_table(minor);
  uint64_t offsets[kDebugOffsetWords];
  if (!Memory::copy(runtime, sizeof offsets, offsets)) return {};
  const Layout layout = layout_from_debug_offsets(offsets);
  return layout.version == minor ? layout : Layout{};
}

}  // namespace diogenes::python
