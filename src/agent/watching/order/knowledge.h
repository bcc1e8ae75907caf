// What a thread knows of the news of others. News is a record that a thread appended, other than an
// OrderRecord: a driver call, a touch. Threads with news of their own are numbered as sources; a Knowledge
// says for each source how much of its news is known. The last source stands for all threads beyond: what is
// known of them is never taken for complete.
#pragma once
#include <cstdint>

namespace diogenes::agent {

struct Knowledge {
  static constexpr uint32_t kSources = 32, kUnlisted = kSources - 1;

  alignas(16) uint32_t of[kSources] = {};

  // Of the listed sources.
  bool covers(const Knowledge& other) const {
    uint32_t missing = 0;
    for (uint32_t i = 0; i < kUnlisted; ++i) missing |= other.of[i] > of[i];
    return missing == 0;
  }
  bool unlisted() const { return of[kUnlisted] != 0; }

  void add(const Knowledge& other) {
    for (uint32_t i = 0; i < kSources; ++i) of[i] = other.of[i] > of[i] ? other.of[i] : of[i];
  }
};

}  // namespace diogenes::agent
