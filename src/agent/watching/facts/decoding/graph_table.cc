#include "agent/watching/facts/decoding/graph_table.h"

namespace diogenes::agent::facts {

void GraphContent::clear() {
  kernels = false;
  flags = 0;
  copy_count = 0;
  kernel_addresses.clear();
}

void GraphContent::unknown() { flags |= kAnyDevice | kAnyHost | kAnyPageable; }

void GraphContent::add_word(uint64_t word) {
  for (int i = 0; i < kernel_addresses.count; ++i)
    if (kernel_addresses.address[i] == word) return;
  if (kernel_addresses.count == KernelAddresses::kMaximum)
    kernel_addresses.unknown = true;
  else
    kernel_addresses.address[kernel_addresses.count++] = word;
}

void GraphContent::add_copy(const GraphCopy& added) {
  for (int i = 0; i < copy_count; ++i)
    if (copies[i].destination == added.destination && copies[i].source == added.source &&
        copies[i].to_host == added.to_host && copies[i].from_host == added.from_host)
      return;
  if (copy_count == kCopies)
    unknown();
  else
    copies[copy_count++] = added;
}

GraphContent* Graphs::find(uint64_t executable) {
  uint16_t* index = by_executable_.find(executable);
  return index ? &contents_[*index] : nullptr;
}

GraphContent* Graphs::reserve() {
  for (GraphContent& content : contents_) {
    if (content.used) continue;
    content.clear();
    content.used = true;
    return &content;
  }
  return nullptr;
}

void Graphs::put(GraphContent* content, uint64_t executable) {
  forget(executable);
  if (executable == 0 || !by_executable_.insert(executable, static_cast<uint16_t>(content - contents_)))
    content->used = false;
}

void Graphs::forget(uint64_t executable) {
  GraphContent* content = find(executable);
  if (!content) return;
  by_executable_.erase(executable);
  content->used = false;
}

void Graphs::reset() {
  by_executable_.clear();
  for (GraphContent& content : contents_) content.used = false;
}

}  // namespace diogenes::agent::facts
