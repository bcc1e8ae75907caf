#include "agent/watching/facts/content/transfer_contents.h"

#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/facts/content/readbacks.h"
#include "agent/watching/facts/content/uploads.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

bool copies_to_host(const DecodedCall& decoded) {
  return decoded.is_transfer && decoded.transfer.decoded && !decoded.transfer.fill &&
         decoded.transfer.bytes() > 0 && is_host_side(decoded.destination.kind) &&
         decoded.source.kind == MemoryKind::device;
}

// Kernels write it at any time.
bool is_shared(const DecodedCall& decoded) {
  LockGuard guard(state().lock);
  const Allocation* allocation = state().memory.find(decoded.transfer.destination);
  return allocation && allocation->shared;
}

// What a kernel may have written since it was fetched is a new result, whatever the bytes.
bool is_unwritten(const DecodedCall& decoded) {
  LockGuard guard(state().lock);
  const Allocation* source = state().memory.find(decoded.transfer.source);
  return !source || source->written < last_fetched(decoded.transfer);
}

bool is_done(const Call& call, const DecodedCall& decoded) {
  return !call.driver->asynchronous || decoded.destination.kind == MemoryKind::pageable;
}

bool read_destination(const DecodedCall& decoded, Content* content) {
  const TransferArguments& copy = decoded.transfer;
  return content_if_there({copy.destination, copy.width, copy.height, copy.destination_pitch}, content,
                          nullptr, nullptr, copy_watched_if_there);
}

}  // namespace

bool looks_at_destination(const DecodedCall& decoded) {
  return plan().plan->stage == Stage::memory_tracing && decoded.looked_at() && copies_to_host(decoded) &&
         last_fetched(decoded.transfer) != 0 && !is_shared(decoded);
}

void contents_before(const Call& call, const DecodedCall& decoded, Contents& contents) {
  contents = {};
  if (plan().plan->stage != Stage::memory_tracing) return;
  if (copies_to_host(decoded)) {
    forget_downloads(decoded.destination.host.range);
    if (decoded.reads_destination && is_unwritten(decoded) && !read_destination(decoded, &contents.held))
      contents.held = {};
  }
  if (!copies_to_device(decoded)) return;
  const TransferArguments& copy = decoded.transfer;
  read_upload(copy, decoded.looked_at() ? &contents.content : nullptr);
  if (contents.content == Content{}) return;
  contents.remembered = was_there_before(contents.content, copy.destination, copy.bytes());
  if (contents.remembered) contents.readback = read_back(call, decoded, contents.content);
}

void contents_of_done(const Call& call, const DecodedCall& decoded, Contents& contents) {
  if (plan().plan->stage != Stage::memory_tracing || !call.succeeded() || !decoded.looked_at() ||
      !copies_to_host(decoded) || !is_done(call, decoded) || is_shared(decoded))
    return;
  if (!read_destination(decoded, &contents.content)) contents.content = {};
}

void contents_after(const Call& call, const DecodedCall& decoded, const Contents& contents) {
  if (plan().plan->stage != Stage::memory_tracing) return;
  bool recorded = call.succeeded() && call.id.sequence != OperationId{}.sequence;
  if (!recorded && contents.readback) return cancel_readback(contents.readback);
  if (!recorded) return;
  const TransferArguments& copy = decoded.transfer;
  if (copies_to_host(decoded)) {
    note_fetched(copy);
    if (contents.content != Content{}) {
      remember_there(contents.content, copy.source, copy.bytes());
      append_content(call.id, contents.content, compare(contents.held, contents.content));
    } else if (decoded.looked_at() && !is_done(call, decoded) && !is_shared(decoded)) {
      await_download(call, decoded, contents.held);
    }
    return;
  }
  if (!copies_to_device(decoded) || contents.content == Content{}) return;
  if (!contents.remembered) remember_there(contents.content, copy.destination, copy.bytes());
  if (contents.readback) return name_readback(contents.readback, call.id);
  append_content(call.id, contents.content, Held::unknown);
}

}  // namespace diogenes::agent::facts
