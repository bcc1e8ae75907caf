// Open waits: deferred ones without a mark, since no host memory depended on them. A mark takes the CPU 1 to 4 us, and the GPU
// more than a short kernel. Who comes to need one waits for all of its stream, or for the event that keeps its place. Under the
// corrector's lock.
#pragma once
#include "corrector/waits/deferrals.h"

namespace diogenes::corrector {

// What a call gives the GPU.
enum class Gives {
  what_ends,      // by itself, as copies and fills do
  what_may_wait,  // until another stream, or the CPU, lets it go on
};

class OpenWaits {
 public:
  OpenWaits(Marks& marks, Deferrals& deferrals) : marks_(marks), deferrals_(deferrals) {}

  // Streams are one bit each.
  void add(uint64_t streams);            // a wait for all that they have now
  void close() { open_ = placed_ = 0; }  // a deferral waits for them all
  uint64_t streams() const { return open_; }
  uint64_t without_place() const { return open_ & ~placed_; }
  // A mark that is put now would lie behind what came after the place.
  bool places_only_in(uint64_t streams) const { return (placed_ & ~streams) == 0; }

  // What a stream (-1: a new one) is given now must come behind open waits for others, which get their marks. False: await them.
  bool mark_others(int stream);
  // Before its own stream is given more, the place of an open wait is kept: who awaits it later, and without that all of its
  // stream, might be the one that lets the new work go on. Where there are several streams, others may come to wait for it:
  // it gets its mark. False: await it.
  bool mark_own(int stream, Gives gives);

  // What somebody awaits now: all of a stream, or up to the event in it.
  struct Awaited {
    uint64_t streams = 0, places = 0;  // places: those of `streams` with an event
    uint64_t until = 0;                // waits added so far
  };
  // `others`: other threads make calls meanwhile. What has no event gets a mark then, if it can; what is awaited stays open, for
  // them to come behind.
  Awaited begin_await(bool others);
  void wait_for(const Awaited& awaited) const;  // not under the lock
  void end_await(const Awaited& awaited);

 private:
  bool mark(uint64_t streams);

  Marks& marks_;
  Deferrals& deferrals_;
  uint64_t open_ = 0;
  uint64_t placed_ = 0;  // ... of which an event keeps the place (Marks::place)
  uint64_t added_ = 0;
  int awaiting_places_ = 0;  // threads that do; the events stay where they are
};
static_assert(kStreams <= 64);

}  // namespace diogenes::corrector
