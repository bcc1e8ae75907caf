#include "views/shared/stall_reasons.h"

#include <algorithm>
#include <iterator>

namespace diogenes {
namespace {

constexpr StallReason kReasons[] = {
    {"barrier", "waits for the other threads of its block",
     "The warp is at a barrier of its block (__syncthreads) that other warps have not reached.",
     "Give the warps of a block equal work before the barrier; use smaller blocks, or fewer barriers."},
    {"branch_resolving", "waits for the target of a branch",
     "The next instruction is not known until a branch has been taken.",
     "Use fewer branches: unroll small loops, and replace short conditions by selections."},
    {"dispatch_stall", "is held back by the dispatcher",
     "The warp could go on, but the dispatcher had to hold its instruction back.",
     "There is little to do about it; it is rare."},
    {"drain", "waits for its writes before it ends",
     "The warp has reached its end and waits until its writes to memory are under way.",
     "Write less at the end of the kernel, and so that the threads of a warp write next to each other."},
    {"gmma", "waits for tensor cores", "The warp waits for a matrix operation of its warp group.",
     "That is what a kernel of matrix products does; have more of them under way at a time."},
    {"imc_miss", "waits for constants", "A constant was not in the cache for constants.",
     "Have all threads of a warp read the same constant; keep tables that they index in shared memory."},
    {"lg_throttle", "waits to access memory: too many accesses are under way",
     "The queue of accesses to global and local memory is full.",
     "Make fewer and wider accesses (float4), so that threads of a warp access memory next to each other; see that "
     "registers are not spilled."},
    {"long_scoreboard", "waits for data from memory",
     "The warp waits for data from global, local or texture memory.",
     "Have threads of a warp read memory next to each other; keep what is read again in shared memory or registers; "
     "have more loads under way, by more warps or by unrolling."},
    {"math_pipe_throttle", "waits for an arithmetic unit that is busy",
     "The unit that the next instruction needs is busy with other instructions.",
     "The kernel computes as fast as that unit allows: use fewer or cheaper operations, such as float in place of double."},
    {"membar", "waits for a memory fence",
     "The warp waits until its earlier accesses are seen by others (__threadfence).",
     "Use fewer fences, or fences of a block in place of those of the GPU."},
    {"mio_throttle", "waits to access shared memory: too many accesses are under way",
     "The queue of instructions for shared memory, special functions and dynamic branches is full.",
     "Make fewer and wider accesses to shared memory; use fewer special functions."},
    {"misc", "waits for some other reason", "The hardware tells no more.",
     "There is nothing known to do about it."},
    {"no_instructions", "waits for its instructions",
     "The next instruction was not in the cache of instructions, or the warp has just jumped far.",
     "Make the kernel's code smaller: unroll less, and call functions in place of inlining them many times."},
    {"not_selected", "could go on, but another warp did",
     "The warp was ready, but its scheduler issued an instruction of another warp.",
     "That is no problem: there are enough warps. Fewer of them, with more registers each, may do as well."},
    {"selected", "issues instructions", "The warp issued an instruction when it was sampled.",
     "To be faster, the kernel has to execute fewer instructions."},
    {"short_scoreboard", "waits for shared memory or special functions",
     "The warp waits for data from shared memory, or for a special function (division, square root, sine).",
     "Avoid that threads of a warp access different lines of one bank of shared memory; use fewer special functions."},
    {"sleeping", "sleeps", "All threads of the warp sleep (__nanosleep).",
     "Sleep for a shorter time, or not at all."},
    {"tex_throttle", "waits to access textures: too many accesses are under way",
     "The queue of the texture unit is full.", "Make fewer accesses, or read through global memory."},
    {"wait", "waits for the instruction before it",
     "An instruction that takes a fixed time is not over, and the next one needs its result.",
     "Give each thread several independent computations, or have more warps."},
    {"warpgroup_arrive", "waits for the other warps of its group",
     "The warp waits until all warps of its group have come to a matrix operation.",
     "Give the warps of a group equal work before it."},
};

}  // namespace

std::span<const StallReason> all_stall_reasons() { return kReasons; }

const StallReason* stall_reason_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                  [&](const StallReason& one) { return name == one.name; });
  return found == std::end(kReasons) ? nullptr : found;
}

std::string stall_phrase(std::string_view name) {
  const StallReason* known = stall_reason_named(name);
  return known ? known->phrase : "is in state '" + std::string(name) + "'";
}

}  // namespace diogenes
