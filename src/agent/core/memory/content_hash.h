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

static inline void hash_rows(uint64_t address, uint64_t width, uint64_t height, uint64_t pitch,
                             uint64_t* out) {
  XXH128_hash_t hash;
  if (height <= 1 || pitch == width) {
    hash = XXH3_128bits((const void*)address, width * height);
  } else {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (uint64_t row = 0; row < height; ++row)
      XXH3_128bits_update(&state, (const void*)(address + row * pitch), width);
    hash = XXH3_128bits_digest(&state);
  }
  out[0] = hash.low64;
  out[1] = hash.high64;
}
