#include "agent/facts/contents.h"

#include "agent/facts/sides.h"
#include "agent/facts/state.h"
#include "agent/recorder.h"

namespace diogenes::agent::facts {

namespace {

struct Look {
  AddressBounds bounds;
  const TransferArguments* copy;
  uint64_t seen;  // bytes
  bool found;
};

// Every aligned word that lies where the driver gave memory.
void look_for_addresses(void* context, const void* piece, uint64_t bytes) {
  auto& look = *static_cast<Look*>(context);
  GivenAddresses given;
  given.clear();
  // What is a word on the device need not be one here.
  uint64_t width = look.copy->width;
  uint64_t destination =
      look.copy->destination + look.seen / width * look.copy->destination_pitch + look.seen % width;
  look.seen += bytes;
  scan_words(piece, bytes, destination, look.bounds, given);
  look.found |= given.count > 0 || given.unknown;
  if (given.count == 0) return;
  LockGuard guard(state().lock);
  for (int i = 0; i < given.count; ++i)
    if (Allocation* allocation = state().memory.near(given.address[i]))
      if (is_host_side(allocation->kind)) share(*allocation);
}

bool copies_to_device(const DecodedCall& decoded) {
  return decoded.is_transfer && decoded.transfer.decoded && !decoded.transfer.fill &&
         decoded.transfer.bytes() > 0 && decoded.source.on_host() &&
         decoded.source.kind != MemoryKind::unknown && decoded.destination.kind == MemoryKind::device;
}

}  // namespace

void contents_before(const Call& call, const DecodedCall& decoded, Content& content) {
  content = {};
  if (!copies_to_device(decoded)) return;
  (void)call;
  const TransferArguments& copy = decoded.transfer;
  Rows rows{copy.source, copy.width, copy.height, copy.source_pitch};
  Look look{};
  look.copy = &copy;
  {
    LockGuard guard(state().lock);
    look.bounds = state().memory.bounds();
  }
  // The program may hand the driver memory that is not there.
  if (!content_if_there(rows, &content, look_for_addresses, &look)) content = {};
  if (look.found) note_addresses(copy.destination);
}

void contents_after(const Call& call, const DecodedCall& decoded, const Content& content) {
  if (!call.succeeded() || !copies_to_device(decoded) || content == Content{}) return;
  HashRecord record{};
  record.type = RecordType::hash;
  record.thread = call.id.thread;
  record.sequence = call.id.sequence;
  record.hash[0] = content.low;
  record.hash[1] = content.high;
  append(record);
}

}  // namespace diogenes::agent::facts
