// Conflicts with work that may wait for the CPU ("gated"): what could come before it by the program's order
// alone, because a thread lets the gated work go on behind a wait.
// In: pairs of an access and a piece of gated work, as they come up, and what each wait may cover. Out: of each
// wait, the accesses that its thread is the first time known to be behind, before it lets the work go. So each
// pair is looked at once by each thread, however many waits there are.
// Source: docs/necessity.md (work that the CPU lets go).
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/necessity/containers/number_map.h"
#include "analysis/necessity/judge/frontier.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

class GatedPairs {
 public:
  struct Work {
    StreamNumber stream;
    uint32_t tick;
  };

  // Work of that stream may wait for the CPU.
  void add_gated(StreamNumber stream) { done_[stream]; }
  // The access of `work` conflicts with `gated`.
  void add(Work work, AccessIndex access, Work gated) {
    streams_[work.stream].pairs.push_back({access, work.tick, gated});
    ++size_;
  }
  // Somebody knows that this work is done: nobody lets it go any more.
  void done(const Clock& certain) {
    for (auto& [stream, tick] : done_) tick = std::max(tick, certain[key_of(stream)]);
  }
  bool is_done(Work gated) const {
    const uint32_t* tick = done_.find(gated.stream);
    return tick && gated.tick <= *tick;
  }
  // visit(Work, AccessIndex) for what a wait of the thread may cover and none before it did.
  template <typename Visit>
  void covered(ThreadNumber thread, const Clock& possible, Visit visit);
  // gone(Work, AccessIndex): the access is no longer there.
  template <typename Gone>
  void forget(Gone gone);
  template <typename Visit>  // visit(Work) for the gated work of each pair
  void each_gated(Visit visit) const {
    for (const auto& [number, stream] : streams_)
      for (const Pair& pair : stream.pairs) visit(pair.gated);
  }
  size_t size() const { return size_; }

 private:
  struct Pair {
    AccessIndex access;
    uint32_t tick;
    Work gated;
  };
  // How far a thread has come with a stream's pairs.
  struct Reader {
    size_t next = 0;
    std::vector<size_t> waiting;  // before `next`: none of its waits may have covered them
  };
  struct OfStream {
    std::vector<Pair> pairs;
    std::unordered_map<uint32_t, Reader> readers;  // by thread
  };

  NumberMap<StreamNumber, OfStream> streams_;  // by the access's stream
  NumberMap<StreamNumber, uint32_t> done_;     // of gated streams
  size_t size_ = 0;
};

template <typename Visit>
void GatedPairs::covered(ThreadNumber thread, const Clock& possible, Visit visit) {
  if (size_ == 0) return;
  for (const Clock::Component& component : possible.components()) {
    if (!is_stream(component.key)) continue;
    const StreamNumber number{number_of(component.key)};
    OfStream* stream = streams_.find(number);
    if (!stream) continue;
    Reader& reader = stream->readers[thread.value];
    while (reader.next < stream->pairs.size()) reader.waiting.push_back(reader.next++);
    std::erase_if(reader.waiting, [&](size_t at) {
      const Pair& pair = stream->pairs[at];
      if (is_done(pair.gated)) return true;
      if (pair.tick > component.value) return false;
      visit(Work{number, pair.tick}, pair.access);
      return true;
    });
  }
}

template <typename Gone>
void GatedPairs::forget(Gone gone) {
  size_ = 0;
  for (auto& [number, stream] : streams_) {
    std::erase_if(stream.pairs, [&, stream_number = number](const Pair& pair) {
      return is_done(pair.gated) || gone(Work{stream_number, pair.tick}, pair.access);
    });
    stream.readers.clear();  // what is left is looked at again
    size_ += stream.pairs.size();
  }
}

}  // namespace diogenes::necessity
