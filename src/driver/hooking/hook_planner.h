// Which bytes a hook displaces, and what they become elsewhere: computed from the file, outside the target,
// with a full decoder (Zydis). The agent only checks that memory holds the expected bytes, and writes. In: an
// Image, entries. Out: a HookSite for each entry, or the reason why there is none. Nothing is guessed: what
// cannot be proved safe from the file is refused, and that function goes without a hook.
//
// A jump of 5 bytes takes the place of the first whole instructions. That is safe when all of these hold:
// - .eh_frame gives the function's bounds, and the displaced bytes are inside them (or in padding behind its
// end);
// - every displaced instruction can be moved: its RIP-relative operand and its branch target are adjusted;
// - no branch of the image goes into the displaced bytes behind the first. All instructions of the function
// are decoded for
//   that; the rest of the code is searched for 32-bit branches. Indirect jumps into the first bytes cannot be
//   seen.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "driver/hooking/hook_site.h"
#include "driver/hooking/image.h"

namespace diogenes {

enum class Refusal : uint8_t {
  none,
  no_code,        // the entry is in no executable part of the file
  no_bounds,      // .eh_frame has no function there
  too_short,      // fewer than 5 bytes, and what follows is not provably padding
  undecodable,    // an instruction that the decoder does not know, among the displaced or in the function
  breakpoint,     // int3, ud2 or the like at the entry
  unmovable,      // loop, jrcxz, xbegin, a 16-bit branch, an EIP-relative operand
  branched_into,  // a branch ends inside the displaced bytes
  too_long,       // does not fit a HookSite
  same_entry,     // another hook has that entry: two names of one function
  overlaps,       // the displaced bytes reach into another hook's entry
};
const char* sentence(Refusal refusal);  // "no unwind information gives its bounds"

struct HookRequest {
  uint64_t entry;     // image offset
  uint16_t function;  // catalogue index, kWaitFunction or kQueueWaitFunction
};

struct PlannedHook {
  HookRequest request{};
  Refusal refusal = Refusal::none;
  uint16_t same_as = 0xffff;  // refusal same_entry: the function that has the hook
  HookSite site{};            // valid where refusal is none

  bool ok() const { return refusal == Refusal::none; }
};

// One answer a request, in the order of the requests.
std::vector<PlannedHook> plan_hooks(const Image& image, std::span<const HookRequest> requests);

// The functions of the catalogue that this driver exports, in the catalogue's order.
std::vector<HookRequest> catalogue_requests(const Image& image);

}  // namespace diogenes
