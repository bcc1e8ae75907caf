#include "agent/core/memory/content.h"

#include <cstring>

#include "agent/core/lock.h"
#include "agent/core/memory/content_hash.h"
#include "base/range.h"

namespace diogenes::agent {

void hash_piece_avx2(void* state, const void* piece, uint64_t bytes);

namespace {

class Hash {
 public:
  Hash() { XXH3_128bits_reset(&state_); }
  void add(const void* piece, uint64_t bytes) {
    __builtin_cpu_supports("avx2") ? hash_piece_avx2(&state_, piece, bytes)
                                   : hash_piece(&state_, piece, bytes);
  }
  Content found() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.low64, hash.high64};
  }

 private:
  XXH3_state_t state_;
};

// Memory is as slow as the hash: what comes next is fetched while a part is looked at, if it is there.
constexpr uint64_t kPart = 2 << 10;
void fetch(uint64_t address, uint64_t bytes) {
  for (uint64_t line = 0; line < bytes; line += 64)
    __builtin_prefetch(reinterpret_cast<void*>(address + line));
}

// `piece` takes `size` bytes at a time.
bool read_and_hash(const Rows& rows, char* piece, uint64_t size, Content* content, LookAtPiece look,
                   void* context, CopyIfThere copy) {
  Hash hash;
  for (uint64_t row = 0; row < rows.height; ++row) {
    uint64_t at = rows.address + row * rows.pitch;
    for (uint64_t left = rows.width; left > 0;) {
      uint64_t bytes = left < size ? left : size;
      if (!copy(piece, reinterpret_cast<const void*>(at), bytes)) return false;
      at += bytes;
      left -= bytes;
      for (uint64_t done = 0; done < bytes; done += kPart) {
        const uint64_t part = bytes - done < kPart ? bytes - done : kPart;
        if (done < left) fetch(at + done, part);
        if (content) hash.add(piece + done, part);
        if (look) look(context, piece + done, part);
      }
    }
  }
  if (content) *content = hash.found();
  return true;
}

constinit Lock large_locks[4];
alignas(8) char large_pieces[4][16 << 10];

}  // namespace

Content content_of(const void* memory, uint64_t bytes) {
  Hash hash;
  hash.add(memory, bytes);
  return hash.found();
}

void PatternFinder::look(const void* piece, uint64_t bytes) {
  if (!repeats_ || bytes == 0) return;
  const auto* begin = static_cast<const char*>(piece);
  const uint64_t head = bytes < sizeof value_ ? bytes : sizeof value_;
  if (bytes_ == 0) {
    for (uint64_t at = 0; at < sizeof value_; ++at) reinterpret_cast<char*>(&value_)[at] = begin[at % head];
  }
  bytes_ += bytes;
  repeats_ = memcmp(begin, &value_, head) == 0 && memcmp(begin, begin + head, bytes - head) == 0;
}

Pattern PatternFinder::found() const {
  constexpr uint64_t kEnough = 64;
  if (!repeats_ || bytes_ == 0) return {};
  if (value_ == (value_ & 0xff) * 0x01010101u) return {value_ & 0xff, 1};
  if (bytes_ < kEnough) return {};
  if (value_ >> 16 == (value_ & 0xffff)) return {value_ & 0xffff, 2};
  return {value_, 4};
}

bool content_if_there(const Rows& rows, Content* content, LookAtPiece look, void* context, CopyIfThere copy) {
  alignas(8) char piece[1024];  // the program's stack may be small
  for (int i = 0; i < 4 && rows.bytes() > sizeof piece; ++i) {
    if (!large_locks[i].try_lock(1)) continue;
    bool there = read_and_hash(rows, large_pieces[i], sizeof large_pieces[i], content, look, context, copy);
    large_locks[i].unlock();
    return there;
  }
  return read_and_hash(rows, piece, sizeof piece, content, look, context, copy);
}

}  // namespace diogenes::agent
