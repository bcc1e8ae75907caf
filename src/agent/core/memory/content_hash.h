// The hash itself, compiled once for every x86-64 (content.cc) and once for AVX2 (content_avx2.cc), more than
// twice as fast. Static functions and plain arguments only: nothing compiled for AVX2 may be linked into the
// other.
#pragma once
#include <stdint.h>

// Inlined whole, so that the agent links no library and defines no symbol of it.
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline void hash_piece(void* state, const void* piece, uint64_t bytes) {
  XXH3_128bits_update((XXH3_state_t*)state, piece, bytes);
}
