// Marks: words in pinned memory that the GPU itself counts up when a stream's work has come so far (cuStreamWriteValue32).
// The CPU sees by one load that work is done, in a signal's handler too, and asks no driver for it. All but reached() is
// called in hooks, by one thread at a time (the corrector's lock); failed() by the watchman.
#pragma once
#include <cstdint>

#include "driver/cuda_types.h"
#include "trace/corrector_services.h"

namespace diogenes::corrector {

inline constexpr int kStreams = 64;                    // that are told apart
inline constexpr uint64_t kAllStreams = ~uint64_t{0};  // a bit each
inline constexpr int kMostMarks = 8;                   // of one deferral

// A place in a stream's work.
struct Mark {
  int stream = -1;        // of Marks; -1: none
  uint32_t sequence = 0;  // what its word counts up to
};

enum class Order : uint8_t {
  given,   // as it was: the mark is the stream's own, is reached, or other work began behind it
  made,    // the stream waits for the mark
  refused  // by the driver
};

class Marks {
 public:
  // In a hook: finds the driver's functions. False: this driver does not write marks.
  bool start(const CorrectorServices& services);
  // With a context, before the first mark. It ends with that context.
  bool allocate();

  // The stream of a call in the calling thread's context; -1: too many.
  int stream_of(const CorrectedCall& call);
  CUstream handle_of(int stream) const { return reinterpret_cast<CUstream>(streams_[stream].handle); }
  bool is_working(uint64_t handle) const;
  // Before it is destroyed. Its work may go on: that is told by a last mark. False: there is none.
  bool end_stream(uint64_t handle);
  // Is all work done that the known streams were given? Asks the driver.
  bool is_idle() const;
  bool several() const;  // more than one stream is known
  void note_work(int stream) {
    streams_[stream].working = true;
    streams_[stream].given = ++given_;
  }
  uint64_t given() const { return given_; }  // pieces of work so far
  void note_done(uint64_t given);            // of the calling thread's context, up to this one

  // Behind the work that the stream has now. False: the driver refused.
  bool put(int stream, Mark& mark);
  // The stream's later work begins after the mark.
  Order order_behind(int stream, const Mark& mark);
  // An event where the stream's work ends now, in place of the one before. That takes a quarter to a third of the time of a
  // mark (docs/driver-facts.md), but only the driver knows when it is reached. False: the driver refused.
  bool place(int stream);
  void await_place(int stream) const;  // not under the lock
  // Was it put into its stream behind the event?
  bool is_behind_place(const Mark& mark) const {
    return static_cast<int32_t>(mark.sequence - places_[mark.stream].behind) > 0;
  }
  int64_t in_driver_ns() const { return in_driver_ns_; }  // for these three, so far
  // Can any thread wait for all of the stream's work, by the driver? Then it does. The latter not under the lock.
  bool may_synchronize(int stream) const { return streams_[stream].thread == 0 && !streams_[stream].ended; }
  void synchronize(int stream) const;
  bool reached(const Mark& mark) const {
    return static_cast<int32_t>(*word(mark.stream) - mark.sequence) >= 0;
  }

  // Streams with work, where this is the only context; -1: it is not, too many, or another thread's own.
  int working(uint64_t context, int (&streams)[kMostMarks]) const;
  uint64_t current_context() const;
  // Did what this stream was given fail? Asks the driver, on a thread of ours.
  bool failed(int stream) const;

 private:
  struct Stream {
    uint64_t handle, context;  // handle: as the driver takes it for a default stream, too
    uint32_t thread;           // whose own default stream it is; 0: no thread's
    uint32_t sequence;         // of the last mark
    bool used, working;        // working: it was given work since all was waited for
    bool ended;                // it was destroyed, and its last mark is not reached yet, as far as was seen
    uint64_t given;            // the latest of it
  };

  struct Place {
    CUevent event;
    uint64_t context;  // the event's
    uint32_t behind;   // the stream's last mark then
  };

  template <typename Call>
  void in_context(uint64_t context, Call call) const;  // of a thread that may have another one, or none
  volatile uint32_t* word(int stream) const { return words_ + stream * 16; }  // a cache line each

  Stream streams_[kStreams];
  Place places_[kStreams];
  uint64_t given_;
  uint32_t ordered_[kStreams][kStreams];  // by stream: the others' marks that its work is behind already
  int last_;                              // that was asked for
  int64_t in_driver_ns_;
  volatile uint32_t* words_;
  const CorrectorServices* services_;
  CUresult (*write_value_)(CUstream, CUdeviceptr, uint32_t, unsigned);
  CUresult (*wait_value_)(CUstream, CUdeviceptr, uint32_t, unsigned);
  CUresult (*stream_query_)(CUstream);
  CUresult (*stream_synchronize_)(CUstream);
  CUresult (*event_create_)(CUevent*, unsigned);
  CUresult (*event_record_)(CUevent, CUstream);
  CUresult (*event_synchronize_)(CUevent);
  CUresult (*ctx_get_current_)(CUcontext*);
  CUresult (*ctx_set_current_)(CUcontext);
};

}  // namespace diogenes::corrector
