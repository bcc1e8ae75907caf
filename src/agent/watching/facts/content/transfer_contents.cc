#include "agent/watching/facts/content/transfer_contents.h"

#include <algorithm>
#include <cstring>

#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/facts/content/readbacks.h"
#include "agent/watching/facts/decoding/transfer_operands.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

struct Look {
  AddressBounds bounds, possible;  // possible: with those of memory that the driver may be told of later
  const TransferArguments* copy;
  uint64_t seen;  // bytes
  bool hashed, found;
  PatternFinder pattern;
};

// Of a word on the device, `count` bytes that come to `at`. Which memory an address means, its bytes 4 and 5 tell.
bool holds_part_of_address(const unsigned char* bytes, uint64_t count, uint64_t at) {
  const uint64_t first = at % 8;
  if (first > 5 || first + count <= 5) return false;
  uint64_t word = 0;
  memcpy(reinterpret_cast<unsigned char*>(&word) + first, bytes, count);
  const int below = first == 5 ? 40 : 32;
  LockGuard guard(state().lock);
  return share_addressed(word >> below, below);
}

// The words that are not whole at both ends.
bool ends_hold_parts(const void* piece, uint64_t bytes, uint64_t destination) {
  const auto* at = static_cast<const unsigned char*>(piece);
  const uint64_t head = std::min(-destination & 7, bytes), tail = (bytes - head) % 8;
  bool found = head > 0 && holds_part_of_address(at, head, destination);
  if (tail > 0) found |= holds_part_of_address(at + bytes - tail, tail, destination + bytes - tail);
  return found;
}

Look look_at(const TransferArguments& copy, bool hashed) {
  Look look{.bounds = {},
            .possible = any_address(),
            .copy = &copy,
            .seen = 0,
            .hashed = hashed,
            .found = false,
            .pattern = {}};
  LockGuard guard(state().lock);
  look.bounds = state().memory.bounds();
  look.possible.add(look.bounds);
  return look;
}

void note_possible_addresses(const unsigned char* words, int count) {
  const AddressBounds anywhere = any_address();
  LockGuard guard(state().lock);
  for (int i = 0; i < count; ++i) {
    uint64_t word;
    memcpy(&word, words + 8 * i, sizeof word);
    if (anywhere.contain(word)) state().possible_addresses.add(word);
  }
}

// Most data holds no address. Out: those that the driver gave.
void look_at_words(const Look& look, const void* piece, uint64_t bytes, uint64_t destination,
                   KernelAddresses& given) {
  const uint64_t head = std::min(-destination & 7, bytes);
  const auto* at = static_cast<const unsigned char*>(piece) + head;
  const unsigned char* end = at + (bytes - head) / 8 * 8;
  constexpr int kBlock = 128;
  while (at < end) {
    const auto words = static_cast<int>(std::min<int64_t>((end - at) / 8, kBlock));
    if (look.possible.contain_any(at, words)) {
      note_possible_addresses(at, words);
      scan_words(at, static_cast<uint64_t>(8 * words), 0, look.bounds, given);
    }
    at += 8 * words;
  }
}

// Every aligned word that lies where the driver gave memory.
void look_at_piece(void* context, const void* piece, uint64_t bytes) {
  auto& look = *static_cast<Look*>(context);
  KernelAddresses given;
  given.clear();
  // What is a word on the device need not be one here.
  uint64_t width = look.copy->width;
  uint64_t destination =
      look.copy->destination + look.seen / width * look.copy->destination_pitch + look.seen % width;
  look.seen += bytes;
  if (look.hashed) look.pattern.look(piece, bytes);
  look_at_words(look, piece, bytes, destination, given);
  look.found |= ends_hold_parts(piece, bytes, destination);
  if (given.count == 0) return;
  look.found = true;
  LockGuard guard(state().lock);
  if (given.unknown) share_all_host_memory();
  for (int i = 0; i < given.count; ++i)
    if (Allocation* allocation = state().memory.near(given.address[i]))
      if (is_host_side(allocation->kind)) share(*allocation);
}

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

void append_content(OperationId id, const Content& content, Held held) {
  HashRecord record{};
  record.type = RecordType::hash;
  record.held = held;
  record.thread = id.thread;
  record.sequence = id.sequence;
  record.hash[0] = content.low;
  record.hash[1] = content.high;
  record.pattern = content.pattern.value;
  record.pattern_bytes = content.pattern.bytes;
  append(record);
}

Held compare(const Content& held, const Content& content) {
  if (held == Content{}) return Held::unknown;
  return held == content ? Held::same : Held::other;
}

bool looks_at_destination(const DecodedCall& decoded) {
  return plan().plan->stage == Stage::memory_tracing && decoded.looked_at() && copies_to_host(decoded) &&
         last_fetched(decoded.transfer) != 0 && !is_shared(decoded);
}

bool copies_to_device(const DecodedCall& decoded) {
  return decoded.is_transfer && decoded.transfer.decoded && !decoded.transfer.fill &&
         decoded.transfer.bytes() > 0 && decoded.source.on_host() &&
         decoded.source.kind != MemoryKind::unknown && decoded.destination.kind == MemoryKind::device;
}

bool look_for_addresses(const TransferArguments& copy) {
  Look look = look_at(copy, false);
  const bool read = content_if_there({copy.source, copy.width, copy.height, copy.source_pitch}, nullptr,
                                     look_at_piece, &look, copy_watched_if_there);
  if (look.found) note_addresses(copy.destination);
  return read;
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
  Rows rows{copy.source, copy.width, copy.height, copy.source_pitch};
  Look look = look_at(copy, decoded.looked_at());
  // The program may hand the driver memory that is not there. Addresses are looked for in any case: which
  // memory kernels reach must be known.
  content_if_there(rows, look.hashed ? &contents.content : nullptr, look_at_piece, &look,
                   copy_watched_if_there);
  contents.content.pattern = look.pattern.found();
  if (look.found) note_addresses(copy.destination);
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
