// Scenes in which a result is copied, computed with or compared before anything depends on it. The first touch needs the
// wait, whatever becomes of the value.
#include <cstring>
#include <vector>

#include "shared.h"

namespace scenes {
uint64_t value_copied(uint32_t value) {
  Pinned result;
  download(result.words, value, shared->first);
  TESTED(value_copied, cuStreamSynchronize, shared->first);
  std::vector<uint32_t> kept;
  kept.push_back(result.words[0]);
  finish();
  return sum(kept.data(), 1);
}
uint64_t value_copied_by_memcpy(uint32_t value) {
  Pinned result;
  download(result.words, value, shared->first);
  TESTED(value_copied_by_memcpy, cuStreamSynchronize, shared->first);
  std::vector<uint32_t> kept(kWords);
  memcpy(kept.data(), result.words, kWords * sizeof(uint32_t));
  finish();
  return sum(kept.data(), kWords);
}
uint64_t value_computed(uint32_t value) {
  Pinned result;
  download(result.words, value, shared->first);
  TESTED(value_computed, cuStreamSynchronize, shared->first);
  const uint64_t computed = uint64_t{result.words[0]} * 3 + 1;
  finish();
  return computed;
}
uint64_t value_decides(uint32_t value) {
  Pinned result;
  download(result.words, value, shared->first);
  TESTED(value_decides, cuStreamSynchronize, shared->first);
  const bool there = result.words[0] == value;
  finish();
  return there ? 1 : 2;
}

}  // namespace scenes
