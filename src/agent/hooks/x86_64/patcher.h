// Writes the plan's hooks into the mapped driver: checks the bytes in memory against the plan, builds a stub
// near by, and puts a 5-byte jump at the entry. Anything unexpected: that hook is skipped, with its
// HookState. Source of each site: driver/hooking/hook_planner.h, computed outside.
#pragma once
#include <cstdint>

#include "base/range.h"
#include "driver/hooking/hook_site.h"
#include "ffm/control_page.h"
#include "trace/format.h"

namespace diogenes::agent {

// `base`: image offset 0 in memory. `states`: one per hook, written. Runs before any thread can be inside the
// driver. `always`: Hook::always of a function. `calls`: kMostCounted of them, or null: calls are not counted.
void install_hooks(const HookSite* sites, uint32_t count, uintptr_t base, AddressRange code,
                   bool (*always)(uint16_t function), CallCount* calls, uint8_t* states);
void count_no_calls();  // from now on

// A 5-byte jump at a function that returns at once (`ret`, or `endbr64; ret`) to `target`, which is called in
// its place. Used for the dynamic linker's notification point. False: not such a function, or no memory near.
bool hook_empty_function(uintptr_t function, AddressRange code, void (*target)());

}  // namespace diogenes::agent
