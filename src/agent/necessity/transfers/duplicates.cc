#include "agent/necessity/transfers/duplicates.h"

#include "agent/recorder.h"

namespace diogenes::agent {

void append_hash(OperationId id, const Content& content, Duplicate duplicate, OperationId first) {
  HashRecord record{};
  record.type = RecordType::hash;
  record.duplicate = duplicate;
  record.thread = id.thread;
  record.sequence = id.sequence;
  record.hash[0] = content.low;
  record.hash[1] = content.high;
  record.first = duplicate == Duplicate::none ? id : first;
  append(record);
}

void Suspicion::append(OperationId id, const Content& content, bool still_held) const {
  if (still_held)
    append_hash(id, content, held, held_first);
  else if (otherwise != Duplicate::none)
    append_hash(id, content, otherwise, first);
  else
    append_hash(id, content, held == Duplicate::verified ? Duplicate::overwritten : Duplicate::none,
                held_first);
}

void Suspicion::append_unverified(OperationId id, const Content& content) const {
  if (otherwise != Duplicate::none)
    append_hash(id, content, otherwise, first);
  else
    append_hash(id, content, held == Duplicate::verified ? Duplicate::unverified : Duplicate::none,
                held_first);
}

Duplicate judge_to_host(bool seen, const Held& held, const Content& content) {
  if (!seen) return Duplicate::none;
  if (held.state != Held::known) return Duplicate::unverified;
  return held.content == content ? Duplicate::verified : Duplicate::overwritten;
}

uint64_t Duplicates::mix(const TransferKey& key, bool with_content) {
  uint64_t hash = key.destination * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 29) ^ key.bytes) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 32) ^ key.device ^ (key.to_device ? 1ull << 40 : 0)) * 0x94d049bb133111eb;
  if (with_content) hash ^= key.content.low;
  return hash ^ (hash >> 31);
}

namespace {

bool same(const TransferKey& one, const TransferKey& other) {
  return one.content == other.content && one.destination == other.destination && one.bytes == other.bytes &&
         one.device == other.device && one.to_device == other.to_device;
}

}  // namespace

bool Duplicates::find(const TransferKey& key, OperationId* first) const {
  for (uint64_t at = mix(key, true);; ++at) {
    const Seen& seen = seen_[at % kSeen];
    if (!seen.used) return false;
    if (!same(seen.key, key)) continue;
    *first = seen.first;
    return true;
  }
}

void Duplicates::remember(const TransferKey& key, OperationId id) {
  OperationId first;
  uint64_t bit = mix(key, false) % (sizeof destinations_ * 8);
  destinations_[bit / 64] |= 1ull << (bit % 64);
  if (find(key, &first)) return;
  if (seen_count_ >= kSeen / 4 * 3) {
    count_drop(Drop::objects_full);
    return;
  }
  uint64_t at = mix(key, true);
  while (seen_[at % kSeen].used) ++at;
  seen_[at % kSeen] = {key, id, true};
  ++seen_count_;
}

bool Duplicates::destination_seen(const TransferKey& key) const {
  uint64_t bit = mix(key, false) % (sizeof destinations_ * 8);
  return destinations_[bit / 64] >> (bit % 64) & 1;
}

uint32_t Duplicates::reserve(uint64_t bytes) {
  uint64_t needed = (bytes + 255) & ~255ull;
  uint64_t begin = staging_end_;
  if (begin % kStagingBytes + needed > kStagingBytes) begin += kStagingBytes - begin % kStagingBytes;
  if (!memory_ || needed > kStagingBytes || next_readback_ - first_readback_ == kReadbacks ||
      begin + needed - staging_begin_ > kStagingBytes) {
    count_drop(Drop::verification_full);
    return 0;
  }
  Readback& readback = readbacks_[next_readback_ % kReadbacks];
  readback = {};
  readback.state = Readback::reserved;
  readback.begin = begin;
  readback.end = staging_end_ = begin + needed;
  readback.bytes = bytes;
  return ++next_readback_;
}

unsigned char* Duplicates::staging(uint32_t number) {
  return memory_ + readbacks_[(number - 1) % kReadbacks].begin % kStagingBytes;
}

void Duplicates::await_readback(uint32_t number, Slot stream, Tick tick) {
  Readback& readback = readbacks_[(number - 1) % kReadbacks];
  readback.state = Readback::waiting;
  readback.stream = stream;
  readback.tick = tick;
  ++waiting_;
}

bool Duplicates::belongs_to(uint32_t number, OperationId id, const Content& content,
                            const Suspicion& suspicion) {
  if (number - 1 - first_readback_ >= next_readback_ - first_readback_) return false;
  Readback& readback = readbacks_[(number - 1) % kReadbacks];
  if (readback.state != Readback::waiting) return false;
  readback.wanted = true;
  readback.id = id;
  readback.suspicion = suspicion;
  readback.content = content;
  return true;
}

void Duplicates::cancel_readback(uint32_t number) {
  readbacks_[(number - 1) % kReadbacks].state = Readback::taken;
  release(number);
}

void Duplicates::release(uint32_t number) {
  readbacks_[(number - 1) % kReadbacks].state = Readback::done;
  while (first_readback_ != next_readback_ &&
         readbacks_[first_readback_ % kReadbacks].state == Readback::done) {
    staging_begin_ = readbacks_[first_readback_ % kReadbacks].end;
    readbacks_[first_readback_++ % kReadbacks].state = Readback::free;
  }
  if (first_readback_ == next_readback_) staging_begin_ = staging_end_;
}

void Duplicates::await_copy(const TransferKey& key, const Rows& rows, const Held& held, OperationId id,
                            Slot stream, Tick tick, uint64_t site) {
  if (copy_count_ == kCopies) {
    count_drop(Drop::objects_full);
    return;
  }
  copies_[copy_count_++] = {key, rows, held, id, stream, tick, site};
}

void Duplicates::forget_copies(AddressRange range) {
  for (int i = copy_count_; i-- > 0;) {
    if (copies_[i].rows.span().overlaps(range)) copies_[i] = copies_[--copy_count_];
  }
}

bool Duplicates::has_ready(const Clock& certain) const {
  for (int i = 0; i < copy_count_; ++i)
    if (copies_[i].tick <= certain[copies_[i].stream]) return true;
  if (waiting_ == 0) return false;
  for (uint32_t n = first_readback_; n != next_readback_; ++n) {
    const Readback& readback = readbacks_[n % kReadbacks];
    if (readback.state == Readback::waiting && readback.tick <= certain[readback.stream]) return true;
  }
  return false;
}

bool Duplicates::take_ready(const Clock& certain, Ready* ready) {
  // In the order of the copies: an earlier one may be the first of a later one.
  int oldest = -1;
  for (int i = 0; i < copy_count_; ++i)
    if (copies_[i].tick <= certain[copies_[i].stream] &&
        (oldest < 0 || copies_[i].id.sequence < copies_[oldest].id.sequence))
      oldest = i;
  if (oldest >= 0) {
    const Copy& copy = copies_[oldest];
    *ready = {Ready::copy, 0,  copy.id,     {},        copy.key, copy.rows,
              copy.held,   {}, copy.stream, copy.tick, copy.site};
    copies_[oldest] = copies_[--copy_count_];
    return true;
  }
  if (waiting_ == 0) return false;
  for (uint32_t n = first_readback_; n != next_readback_; ++n) {
    Readback& readback = readbacks_[n % kReadbacks];
    if (readback.state != Readback::waiting || readback.tick > certain[readback.stream]) continue;
    readback.state = Readback::taken;
    --waiting_;
    *ready = {};
    ready->kind = Ready::readback;
    ready->number = n + 1;
    if (readback.wanted) ready->id = readback.id;
    ready->suspicion = readback.suspicion;
    ready->key.content = readback.content;
    ready->key.bytes = readback.bytes;
    return true;
  }
  return false;
}

bool Duplicates::take_unverified(Ready* ready) {
  for (uint32_t n = first_readback_; n != next_readback_; ++n) {
    Readback& readback = readbacks_[n % kReadbacks];
    if (readback.state != Readback::waiting) continue;
    readback.state = Readback::taken;
    --waiting_;
    if (!readback.wanted) continue;
    *ready = {};
    ready->id = readback.id;
    ready->suspicion = readback.suspicion;
    ready->key.content = readback.content;
    return true;
  }
  return false;
}

void Duplicates::forget_staging() {
  memory_ = nullptr;
  first_readback_ = next_readback_;
  staging_begin_ = staging_end_;
  waiting_ = 0;
}

void Duplicates::reset() {
  forget_staging();
  for (auto& seen : seen_) seen.used = false;
  for (auto& word : destinations_) word = 0;
  seen_count_ = 0;
  copy_count_ = 0;
}

}  // namespace diogenes::agent
