#include "agent/watching/facts/content/uploads.h"

#include "agent/watching/facts/content/found_addresses.h"
#include "agent/watching/guard/guards.h"

namespace diogenes::agent::facts {

namespace {

struct Look {
  const TransferArguments& copy;
  bool hashed, searched;  // searched: for addresses
  AddressBounds bounds = known_memory();
  uint64_t seen = 0;  // bytes
  PatternFinder pattern = {};
};

void look_at_piece(void* context, const void* piece, uint64_t bytes) {
  auto& look = *static_cast<Look*>(context);
  const TransferArguments& copy = look.copy;
  const uint64_t at =
      copy.destination + look.seen / copy.width * copy.destination_pitch + look.seen % copy.width;
  look.seen += bytes;
  if (look.hashed) look.pattern.look(piece, bytes);
  if (look.searched) look_for_addresses(look.bounds, piece, bytes, at);
}

}  // namespace

bool copies_to_device(const DecodedCall& decoded) {
  return decoded.is_transfer && decoded.transfer.decoded && !decoded.transfer.fill &&
         decoded.transfer.bytes() > 0 && decoded.source.on_host() &&
         decoded.source.kind != MemoryKind::unknown && decoded.destination.kind == MemoryKind::device;
}

void read_upload(const TransferArguments& copy, Content* content) {
  Look look{copy, content != nullptr, copy.bytes() <= kMostSearched};
  if (!look.hashed && !look.searched) return;
  content_if_there({copy.source, copy.width, copy.height, copy.source_pitch}, content, look_at_piece, &look,
                   copy_watched_if_there);
  if (content) content->pattern = look.pattern.found();
}

}  // namespace diogenes::agent::facts
