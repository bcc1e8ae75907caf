#include "agent/watching/guard/faults/step_budget.h"

#include <algorithm>

namespace diogenes::agent {

namespace {

constexpr uint32_t kMostSteps = 64;
constexpr uint8_t kHalving = 8;             // guards that give back what one lost
constexpr uint8_t kNoSteps = 7 * kHalving;  // 64 >> 7: none
constexpr uint32_t kPlaces = 1 << 14;

uint8_t spent[kPlaces];
uint32_t worn_places = 0;

uint8_t& place(uintptr_t page) { return spent[(page / kPageSize * 0x9e3779b97f4a7c15ull >> 32) % kPlaces]; }

}  // namespace

uint32_t steps_allowed(uintptr_t page) { return kMostSteps >> (place(page) + kHalving - 1) / kHalving; }

void note_budget_spent(uintptr_t page) {
  uint8_t& level = place(page);
  worn_places += level == 0;
  level = static_cast<uint8_t>(std::min(level + kHalving, +kNoSteps));
}

void note_budget_unused(AddressRange pages) {
  if (worn_places == 0) return;
  // A range's neighbours are on its first page and its last.
  for (uintptr_t page : {pages.begin, pages.end - kPageSize}) {
    uint8_t& level = place(page);
    if (level == 0) continue;
    worn_places -= --level == 0;
    if (pages.size() == kPageSize) break;
  }
}

}  // namespace diogenes::agent
