// Compiled with -mavx2 (tests.cmake); called only where the processor has it.
#include "agent/core/memory/content_hash.h"

namespace diogenes::agent {

void hash_rows_avx2(uint64_t address, uint64_t width, uint64_t height, uint64_t pitch, uint64_t* out) {
  hash_rows(address, width, height, pitch, out);
}

void hash_piece_avx2(void* state, const void* piece, uint64_t bytes) { hash_piece(state, piece, bytes); }

}  // namespace diogenes::agent
