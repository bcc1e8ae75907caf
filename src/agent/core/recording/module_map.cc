#include "agent/core/recording/module_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "agent/core/recording/elf_image.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/stacks/python_frames.h"
#include "base/mapped_file.h"

namespace diogenes::agent {

namespace {

constexpr uint32_t kMaximumModules = 4096;
ModuleRecord records[kMaximumModules];
bool seen[kMaximumModules];  // in the update under way
uint32_t record_count = 0;
uint32_t written = 0;              // of record_count, in the folder's file
uint32_t loaded[kMaximumModules];  // indices of what is loaded now, by begin
uint32_t loaded_count = 0;
std::atomic<uint32_t> generation{1};
Lock lock;

void executable_path(char* out, size_t size) {
  ssize_t length = readlink("/proc/self/exe", out, size - 1);
  out[length > 0 ? length : 0] = 0;
}

struct Update {
  bool begun = false, changed = false;
  uint32_t before = 0;  // of record_count
};

// The dynamic linker's lock is taken first, then the stack lock: where the program visits the linker's list and calls the
// driver, they are taken in this order, too.
void begin(Update& update) {
  stack_lock().lock();
  memset(seen, 0, record_count);
  update.before = record_count;
  update.begun = true;
}

void visit(const LoadedImage& image, void* data) {
  Update& update = *static_cast<Update*>(data);
  if (!update.begun) begin(update);
  AddressRange range = image.range();
  if (range.empty()) return;
  for (uint32_t i = 0; i < loaded_count; ++i) {
    const ModuleRecord& module = records[loaded[i]];
    // Another file at the same place has another build-id or path; compared cheaply by path only if it has a
    // name.
    if (module.begin == range.begin && module.end == range.end &&
        (image.path[0] == 0 || strncmp(module.path, image.path, sizeof module.path - 1) == 0)) {
      seen[loaded[i]] = true;
      return;
    }
  }
  update.changed = true;
  if (record_count == kMaximumModules) {
    count_drop(Drop::modules_full);
    return;
  }
  ModuleRecord& module = records[record_count];
  module = {};
  module.begin = range.begin;
  module.end = range.end;
  module.bias = image.bias;
  BuildId id = image.build_id();
  memcpy(module.build_id, id.bytes.data(), sizeof module.build_id);
  module.build_id_length = id.length;
  module.present = 1;
  // Only the executable has no name; it is the first of the list.
  if (image.path[0] == 0)
    executable_path(module.path, sizeof module.path);
  else
    strncpy(module.path, image.path, sizeof module.path - 1);
  seen[record_count] = true;
  ++record_count;
  offer_to_python(image);
}

void write_new() {
  const char* folder = process_folder();
  if (!folder || written == record_count) return;
  if (!within_file_limit(record_count * sizeof(ModuleRecord))) return count_drop(Drop::file_failed);
  char path[704];
  snprintf(path, sizeof path, "%s/modules", folder);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  size_t bytes = (record_count - written) * sizeof(ModuleRecord);
  if (file < 0 || write(file, records + written, bytes) != static_cast<ssize_t>(bytes))
    count_drop(Drop::file_failed);
  if (file >= 0) close(file);
  written = record_count;
}

}  // namespace

Lock& stack_lock() { return lock; }

void update_modules() {
  Update update;
  for_each_image(visit, &update);
  if (!update.begun) return;
  LockGuard guard(stack_lock(), Taken{});
  uint32_t kept = 0;
  for (uint32_t i = 0; i < loaded_count; ++i) {
    const ModuleRecord& module = records[loaded[i]];
    if (seen[loaded[i]])
      loaded[kept++] = loaded[i];
    else
      take_from_python({module.begin, module.end});
  }
  update.changed |= kept != loaded_count;
  loaded_count = kept;
  for (uint32_t i = update.before; i < record_count; ++i) loaded[loaded_count++] = i;
  if (update.changed) {
    std::sort(loaded, loaded + loaded_count,
              [](uint32_t a, uint32_t b) { return records[a].begin < records[b].begin; });
    generation.fetch_add(1, std::memory_order_relaxed);  // readers hold the same lock when it matters
  }
  write_new();
}

const ModuleRecord* find_module(uintptr_t address, uint32_t* index) {
  uint32_t* end = loaded + loaded_count;
  uint32_t* after =
      std::upper_bound(loaded, end, address, [](uintptr_t a, uint32_t i) { return a < records[i].begin; });
  if (after == loaded || address >= records[after[-1]].end) return nullptr;
  *index = after[-1];
  return &records[after[-1]];
}

const ModuleRecord* module_at(uint64_t index) { return index < record_count ? &records[index] : nullptr; }

uint32_t module_generation() { return generation.load(std::memory_order_relaxed); }
void forget_written_modules() { written = 0; }

}  // namespace diogenes::agent
