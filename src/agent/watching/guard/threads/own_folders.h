// Folders of /proc/self whose entries are numbers: all threads of this process, whoever made them, and its
// open files.
#pragma once
#include <cstdint>
#include <type_traits>

namespace diogenes::agent {

bool visit_numbers(const char* path, bool (*visit)(uint32_t number, void* opaque), void* opaque);

// `visit(number)` for each until one answers false. True: all did; false also where the list cannot be read.
template <typename Visit>
bool for_each_number(const char* path, Visit&& visit) {
  using Plain = std::remove_reference_t<Visit>;
  auto call = [](uint32_t number, void* opaque) -> bool { return (**static_cast<Plain**>(opaque))(number); };
  Plain* pointer = &visit;
  return visit_numbers(path, call, &pointer);
}

template <typename Visit>
bool for_each_thread(Visit&& visit) {
  return for_each_number("/proc/self/task", visit);
}

template <typename Visit>
bool for_each_file(Visit&& visit) {
  return for_each_number("/proc/self/fd", visit);
}

}  // namespace diogenes::agent
