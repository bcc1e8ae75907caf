// The streams of a process, and what orders them: the default streams' rules.
// In: which stream an operation names, and its context. Out: stream numbers for the judge; what new work of a
// stream comes after; what a wait for a stream or a context covers for certain, and what beside.
//
// Whatever is not certain is left out of what is certain: an order that is believed but not there would call
// a needed synchronization needless. Source: docs/necessity.md, and the driver's rules for default
// streams.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "analysis/necessity/events.h"
#include "analysis/necessity/interpret/survey.h"

namespace diogenes::necessity {

struct Scope {
  std::vector<StreamNumber> certain, may;
  MayCover may_cover = MayCover::nothing;
  bool new_work = false;  // some of it was given since a wait that is known to have covered it

  void clear() {
    certain.clear();
    may.clear();
    may_cover = MayCover::nothing;
    new_work = false;
  }
};

class StreamTable {
 public:
  explicit StreamTable(const Survey& survey) : survey_(survey) {}

  struct Stream {
    StreamNumber number;
    uint16_t context = 0;
    bool blocking = false, certain = false, legacy = false, page_tables = false;
    bool destroyed = false;  // its work may still be under way
    // Ordinals over all streams: of work, of anything that is done in the order of the stream (records and waits,
    // too), and of the work of which a wait is known to have covered it.
    uint64_t last_work = 0, last_action = 0, known = 0;
  };
  // Null: it is not known which stream that is.
  Stream* find(uint32_t stream, uint16_t context, uint32_t thread);
  // Stands for all streams that are not known.
  Stream& unknown();
  StreamNumber next_number() { return StreamNumber{next_++}; }

  // The streams of which the next work of this one is after all that was given to them.
  void before_next_in(const Stream& stream, std::vector<StreamNumber>& out) const;
  void gave_work(Stream& stream) { stream.last_work = stream.last_action = ++now_; }
  void acted(Stream& stream) { stream.last_action = ++now_; }
  uint64_t now() const { return now_; }

  void cover_stream(const Stream& stream, Scope& scope) const;
  // All streams of the context, or only those that its legacy stream is ordered with.
  void cover_context(uint16_t context, bool non_blocking_too, Scope& scope) const;
  void cover_everything(Scope& scope) const;
  // Is there something that new work of this stream would wait for, by the rules of default streams, and that its
  // last work did not? That an event or a wait without new work does is not documented.
  bool others_are_ahead(const Stream& stream) const;
  // A call that began at `begin` (now()) has waited for these.
  void covered(const Scope& scope, uint64_t begin);

  // Nothing names it any more, but waits for its context cover its work.
  void destroy(Stream& stream);
  // Destroyed streams of which all work is known to be done: they are forgotten.
  std::vector<StreamNumber> take_ended();

 private:
  using Key = std::tuple<uint32_t, uint16_t, uint32_t>;  // as the operation names it, context, thread
  Stream& add(const Key& key, const StreamFacts* facts, bool is_default);
  bool is_other_blocking(const Stream& stream, const Stream& legacy) const {
    return &stream != &legacy && (!stream.certain || (stream.context == legacy.context && stream.blocking));
  }

  const Survey& survey_;
  std::map<uint32_t, Stream> streams_;  // by number; stable addresses
  std::map<Key, Stream*> by_key_;
  uint32_t next_ = 0;
  size_t destroyed_ = 0;
  uint64_t now_ = 0;
};

}  // namespace diogenes::necessity
