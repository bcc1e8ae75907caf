#include "agent/memory/content.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/lock.h"
#include "agent/memory/content_hash.h"
#include "base/range.h"

namespace diogenes::agent {

void hash_rows_avx2(uint64_t address, uint64_t width, uint64_t height, uint64_t pitch, uint64_t* out);

Content content_of(const Rows& rows) {
  uint64_t hash[2];
  if (__builtin_cpu_supports("avx2"))
    hash_rows_avx2(rows.address, rows.width, rows.height, rows.pitch, hash);
  else
    hash_rows(rows.address, rows.width, rows.height, rows.pitch, hash);
  return {hash[0], hash[1]};
}

bool copy_if_there(void* to, const void* from, uint64_t bytes) {
  iovec here{to, bytes}, there{const_cast<void*>(from), bytes};
  return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == static_cast<long>(bytes);
}

namespace {

// Through the kernel: `piece` takes `size` bytes at a time.
bool read_and_hash(const Rows& rows, char* piece, uint64_t size, Content* content, LookAtPiece look,
                   void* context) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (uint64_t row = 0; row < rows.height; ++row) {
    uint64_t at = rows.address + row * rows.pitch;
    for (uint64_t left = rows.width; left > 0;) {
      uint64_t bytes = left < size ? left : size;
      if (!copy_if_there(piece, reinterpret_cast<const void*>(at), bytes)) return false;
      XXH3_128bits_update(&state, piece, bytes);
      if (look) look(context, piece, bytes);
      at += bytes;
      left -= bytes;
    }
  }
  XXH128_hash_t hash = XXH3_128bits_digest(&state);
  *content = {hash.low64, hash.high64};
  return true;
}

constinit Lock large_lock;
alignas(8) char large_piece[256 << 10];

}  // namespace

bool content_if_there(const Rows& rows, Content* content, LookAtPiece look, void* context) {
  alignas(8) char piece[8192];
  // The large buffer saves most system calls; who finds it taken does without.
  if (rows.bytes() <= sizeof piece || !large_lock.try_lock(1))
    return read_and_hash(rows, piece, sizeof piece, content, look, context);
  bool there = read_and_hash(rows, large_piece, sizeof large_piece, content, look, context);
  large_lock.unlock();
  return there;
}

}  // namespace diogenes::agent
