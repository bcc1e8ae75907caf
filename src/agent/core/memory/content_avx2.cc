// Compiled with -mavx2 (tests.cmake); called only where the processor has it.
#include "agent/core/memory/content_hash.h"

namespace diogenes::agent {

void hash_piece_avx2(void* state, const void* piece, uint64_t bytes) { hash_piece(state, piece, bytes); }

}  // namespace diogenes::agent
