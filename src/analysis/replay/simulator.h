// Runs a recorded schedule again, with changes: how long would the program have taken without this wait?
//
// In: the schedule (recorded/schedule.h), a duration for every GPU operation (recorded/durations.h), what is known of the
// machine, edits. Out: when each thread ends, and the whole. A benefit is the difference between two such runs, one without
// edits and one with them, so what the model gets wrong in both cancels out.
//
// The idea. What the CPU computes between two calls, what a call takes beside waiting, and what the GPU takes for an operation
// are taken as recorded. Waits are not: how long each one takes follows from when its work ends. So a removed wait lets the
// thread go on at once, its later work reaches the GPU earlier, and later waits get longer or shorter by themselves.
//
// An example, in microseconds. A launch takes 3, the kernel starts 2 later and runs for 10; a waiting thread goes on 1 after the
// kernel's end.
//
//   recorded                 CPU  launch 0-3, work 3-5, waits 5-16, work 16-20    GPU  kernel 5-15    ends at 20
//   the wait removed         CPU  launch 0-3, work 3-5,             work 5-9      GPU  kernel 5-15    ends at 15: gains 5
//   ... moved into the work  CPU  launch 0-3, work 3-5, work 5-8, waits 8-16,
//   behind it, by 3               work 16-17                                      GPU  kernel 5-15    ends at 17: gains 3
//
// The wait took 11; without it the program ends with its kernel, so 5 is all there is to gain. A sum of waits cannot tell that.
//
// How it runs. Two sources of events: the GPU (gpu.h) and the threads. The earlier one goes on, and at the same time the GPU. A
// thread walks through its nodes: the work before (`gap`), points at which threads release each other (`point`), uses to which
// waits were moved (`use`), the call itself (`call`, a place in the launch queue, `submit`), its wait, and what the call does
// behind it (`woken`). It stops where it waits for the GPU or for another thread, and is taken up when that has happened.
//
// Modelled of the machine:
//   - streams in order; one engine for each direction of copies, served in the order in which operations get
//     ready; kernels of different streams either exclude each other or overlap, up to a number (Machine);
//   - events, and the legacy default stream, which orders all work before and behind it but that of
//     non-blocking streams;
//   - a launch that finds its stream's queue full waits for a place;
//   - a loop of queries waits for what it asks about;
//   - when work can start that a call hands over (Handover), the time between operations of one stream (gap),
//     from the GPU's end to the waiting thread's return (wake_up).
// Not modelled: that work side by side slows each other down, on the CPU or on the GPU.
//
// Where it is careful:
// - A wait that finds all done costs what such a wait costs, not nothing (Schedule::idle_time).
// - A wait that waited with no recorded work to wait for gets an operation of its own, which was not seen.
// - A thread that slept until another let it go on sleeps anew: until that one comes there, and for what waking takes after a
//   sleep of that length. Locks that were free are taken in the recorded order, or in any: the estimate runs both ways, as it
//   does with whatever else is not known (Setting), and its range holds all results (process.h).
// - Damaged records may name a release that never comes. When nothing else can happen the first who waits goes on.
// - The recorded run is run first, without edits. By how much that misses its time is part of every range.
//
// Linear in the number of nodes. With one thread, only the parts of the run that an edit reaches are run: from where the GPU is
// idle as it was without edits, all goes on alike up to the last such point before the next edit (Checkpoint).
#pragma once
#include <span>

#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

struct Edit {
  uint32_t thread = 0, node = 0;  // in Schedule::threads
  bool wait_removed = false, call_removed = false;
  bool own_stream = false;     // waits for the stream alone to which its thread gave work last
  bool on_gpu = false;         // it does not wait: the work that its thread gives later does
  uint32_t to_stream = kNone;  // its work goes there
  int64_t own =
      -1;  // the call's own time; with call_removed: of another one in its place. -1: as recorded, none
  int64_t before = 0;         // taken from the CPU work before the node: calls there that are removed
  uint32_t use_node = kNone;  // moved: the wait happens in the CPU work before this node,
  int64_t use_offset = 0;     // so long after the node before it ended
  auto position() const { return std::pair(thread, node); }
};

struct Setting {
  bool recording_out = false;  // what recording took is left out of the CPU work
  bool threads_joined = true;  // threads go on when others release them; else when they did
  bool moved_as_event = true;  // a moved wait waits for what it covered; else for all that is there by then
  bool locks_in_order = true;  // free locks are taken in the recorded order; else in any
  bool sleeps_cost = true;     // by their length (SleepCosts); else as when they were recorded
};

// Points of an unchanged run of one thread at which the GPU was idle. Kept some nodes apart: more would cost
// more than they save.
inline constexpr uint32_t kCheckpointsApart = 8;
struct Checkpoint {
  uint32_t node = 0;  // finished
  int64_t time = 0;
};

struct Outcome {
  int64_t end = 0;
  std::vector<int64_t> threads;
};

// `edits`: sorted by position. `checkpoints`: filled by an unchanged run, used by a changed one with the same
// durations, machine and setting.
Outcome simulate(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
                 const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill = nullptr,
                 const std::vector<Checkpoint>* use = nullptr);

}  // namespace diogenes::replay
