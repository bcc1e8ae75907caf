#include "agent/core/unwind/find_object.h"

#include <atomic>

#include "agent/core/recording/elf_image.h"

namespace diogenes::agent {

namespace {

using Find = int (*)(void*, dl_find_object*);
std::atomic<Find> glibcs{nullptr};  // null until it was looked up, and where there is none

__attribute__((constructor)) void look_up() {
  glibcs.store(reinterpret_cast<Find>(dlsym(RTLD_NEXT, "_dl_find_object")), std::memory_order_relaxed);
}

struct Search {
  uintptr_t address;
  dl_find_object* found;
  bool done;
};

}  // namespace

int find_object_by_walk(void* address, dl_find_object* found) {
  Search wanted{reinterpret_cast<uintptr_t>(address), found, false};
  for_each_image(
      [](const LoadedImage& image, void* data) {
        auto& search = *static_cast<Search*>(data);
        const AddressRange range = image.range();
        if (search.done || !range.contains(search.address)) return;
        *search.found = {};
        search.found->dlfo_map_start = reinterpret_cast<void*>(range.begin);
        search.found->dlfo_map_end = reinterpret_cast<void*>(range.end);
        for (int i = 0; i < image.header_count; ++i)
          if (image.headers[i].p_type == PT_GNU_EH_FRAME)
            search.found->dlfo_eh_frame = reinterpret_cast<void*>(image.bias + image.headers[i].p_vaddr);
        search.done = search.found->dlfo_eh_frame != nullptr;
      },
      &wanted);
  return wanted.done ? 0 : -1;
}

}  // namespace diogenes::agent

// Hidden, so only code that is linked into the agent comes here.
extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* address, dl_find_object* found) noexcept {
  using namespace diogenes::agent;
  const Find glibc = glibcs.load(std::memory_order_relaxed);
  return glibc ? glibc(address, found) : find_object_by_walk(address, found);
}
