// Pages that were touched beside their guards too often. A step costs as much as thousands of plain accesses,
// so a guard has a number of them: 64 at first, half as many each time that a guard over the page used up its
// own, down to none. Eight guards that were touched, and saw no access beside them before, give the page back what one
// lost: of two ranges that share a page, one may always be touched first, and the other always meet its neighbour.
//
// In: steps, by page. Out: how many a guard may have; whether another way of watching is the better one. A
// page whose place in the table is taken by another has what that one has: fewer steps, never a wrong word.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

// All under the table's lock.
uint32_t steps_allowed(uintptr_t page);
void note_budget_spent(uintptr_t page);
void note_budget_unused(AddressRange pages);

}  // namespace diogenes::agent
