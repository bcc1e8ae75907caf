#include "agent/watching/facts/decoding/graph_operands.h"

#include "agent/watching/facts/content/transfer_contents.h"
#include "agent/watching/facts/decoding/transfer_operands.h"
#include "agent/watching/facts/facts_state.h"

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

static bool goes_to_device(const GraphCopy& copy) {
  LockGuard guard(state().lock);
  const Allocation *source = state().memory.find(copy.source.begin),
                   *destination = state().memory.find(copy.destination.begin);
  const bool from_host = source ? source->kind != MemoryKind::device : copy.from_host;
  return from_host && !copy.to_host && (!destination || destination->kind == MemoryKind::device);
}

// As it is now: what the CPU writes behind the launch, it must not.
static void look_for_addresses(const GraphCopy& copy) {
  TransferArguments upload;
  upload.destination = copy.destination.begin, upload.source = copy.source.begin;
  upload.width = upload.source_pitch = copy.source.size();
  const Opened opened(copy.source);
  if (!opened.readable() || !look_for_addresses(upload)) note_any_address(copy.destination.begin);
}

void decode_graph_launch(const Call& call, DecodedCall& decoded) {
  bool kernels = false;
  {
    LockGuard guard(state().lock);
    GraphContent* content = state().graphs.find(call.argument(0));
    if (!content) {
      decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable | kHasKernel;
      return;
    }
    decoded.operands.flags |= content->flags;
    kernels = content->kernels;
    decoded.kernel_addresses = content->kernel_addresses;
  }
  if (kernels) add_kernel_operands(decoded);
  for (int i = 0;; ++i) {
    GraphCopy copy;
    {
      LockGuard guard(state().lock);
      GraphContent* content = state().graphs.find(call.argument(0));
      if (!content || i >= content->copy_count) return;
      copy = content->copies[i];
    }
    add_graph_transfer_operand(copy.destination, copy.to_host, true, decoded);
    if (copy.source.empty()) continue;
    add_graph_transfer_operand(copy.source, copy.from_host, false, decoded);
    copy_addresses(copy.source.begin, copy.destination.begin);
    if (goes_to_device(copy)) look_for_addresses(copy);
  }
}

}  // namespace diogenes::agent::facts
