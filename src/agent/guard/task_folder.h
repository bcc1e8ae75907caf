// The threads of this process, as /proc/self/task lists them: all of them, whoever made them.
#pragma once
#include <cstdint>
#include <type_traits>

namespace diogenes::agent {

bool visit_threads(bool (*visit)(uint32_t thread, void* opaque), void* opaque);

// `visit(thread)` for each until one answers false. True: all did; false also where the list cannot be read.
template <typename Visit>
bool for_each_thread(Visit&& visit) {
  using Plain = std::remove_reference_t<Visit>;
  auto call = [](uint32_t thread, void* opaque) -> bool { return (**static_cast<Plain**>(opaque))(thread); };
  Plain* pointer = &visit;
  return visit_threads(call, &pointer);
}

}  // namespace diogenes::agent
