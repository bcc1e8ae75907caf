// The order of everything that a random program does, as the generator keeps it while it makes the program:
// which work the GPU itself puts in front of which, what each wait covers, and which wait the program relies
// on for each use. In: what generate.cc adds. Out: the marks `needed` and `guess` of the operations.
#pragma once
#include <array>
#include <bitset>
#include <map>
#include <utility>
#include <vector>

#include "program.h"

namespace random_program {

inline constexpr int kWork = 96;  // pieces of GPU work in one program, at most

// Which pieces the GPU itself does before something.
using Before = std::bitset<kWork>;

struct Buffer {
  int writer = -1;  // piece of work; -1: the CPU, or long ago
  struct Reader {
    int work;
    bool kernel;
  };
  std::vector<Reader> readers;  // since
  std::vector<int> history;     // all work that named it
};

// By their names, kernels may write whatever they are given, and so may run beside nothing that names it.
inline bool has_kernel(Kind kind) {
  return kind == Kind::fill || kind == Kind::copy || kind == Kind::host_function;
}

struct Wait {
  size_t operation;
  Before covers;
  bool query = false;  // nobody's wait: the program asked until it was done
};

inline constexpr int kNobody = -1;

class Order {
 protected:
  Before next_in(int stream) const {
    Before result = streams_[static_cast<size_t>(stream)];
    if (stream == 0) result |= streams_[3];
    if (stream == 3) result |= streams_[0];
    return result;
  }
  // The wait by which the program knows what this work did to the buffer: the one of its first use, or the
  // latest.
  int owner(int work, int buffer) const {
    if (const auto used = owner_when_used_.find({work, buffer}); used != owner_when_used_.end())
      return used->second;
    for (size_t i = waits_.size(); i-- > 0;)
      if (waits_[i].covers[static_cast<size_t>(work)]) return static_cast<int>(i);
    return kNobody;
  }
  int give(int stream, bool host_function = false) {
    order_behind_host_functions(stream, host_function);
    host_work_[static_cast<size_t>(works_)] = host_function;
    Before& own = streams_[static_cast<size_t>(stream)];
    own = next_in(stream);
    own.set(static_cast<size_t>(works_));
    given_[static_cast<size_t>(works_)] = stream;
    behind_[static_cast<size_t>(works_)] = own;
    return works_++;
  }
  // The program depends on knowing that this is done: `order`, to start other work, or else to use what the
  // buffer holds, which it then has.
  void depend_on(int work, int buffer, bool order) {
    if (needed_already_[static_cast<size_t>(work)]) return;
    const int by = owner(work, buffer);
    if (by == kNobody) return;
    if (!order) owner_when_used_[{work, buffer}] = by;
    const Wait& wait = waits_[static_cast<size_t>(by)];
    if (!wait.query) {
      operations_[wait.operation].needed = true;
      guess_better(by, work);
      // It stays where it is, and so what it covers needs no other, if it is documented. Behind a use it may
      // come later.
      if (order && rank(operations_[wait.operation].kind) > 0) needed_already_ |= wait.covers;
      return;
    }
    // The query alone would do, or so it seems: whoever asks may also do something else when it is not done.
    // Without it, the waits before it would be the ones for this work and for what named the buffer earlier.
    guess_before(by, work);
    for (const int earlier : buffers_[static_cast<size_t>(buffer)].history) guess_before(by, earlier);
  }
  // Of several waits that order the same pair, the design keeps documented ones before others, explicit ones
  // before implicit ones, and then those of the thread that uses the data, which is not known yet.
  static int rank(Kind kind) {
    if (kind == Kind::context || kind == Kind::stream || kind == Kind::event) return 2;
    return kind == Kind::upload_now || kind == Kind::download_now || kind == Kind::set_now ? 1 : 0;
  }
  void guess_better(int by, int work) {
    const Operation& latest = operations_[waits_[static_cast<size_t>(by)].operation];
    std::array<int, kThreads> best;
    best.fill(-1);
    best[static_cast<size_t>(latest.thread)] = rank(latest.kind);
    for (int i = by; i-- > 0;) {
      const Wait& before = waits_[static_cast<size_t>(i)];
      Operation& operation = operations_[before.operation];
      int& rank_there = best[static_cast<size_t>(operation.thread)];
      if (before.query || !before.covers[static_cast<size_t>(work)] || rank(operation.kind) <= rank_there)
        continue;
      if (rank(operation.kind) < rank(latest.kind)) continue;
      rank_there = rank(operation.kind);
      operation.guess = true;
    }
  }
  void guess_before(int query, int work) {
    for (int i = query; i-- > 0;) {
      const Wait& before = waits_[static_cast<size_t>(i)];
      if (before.query || !before.covers[static_cast<size_t>(work)]) continue;
      operations_[before.operation].guess = true;
      return;
    }
  }
  // What host functions do is out of sight, and they may do anything: the first wait for one is needed by
  // that, and no other work may run beside it.
  // Whatever a wait is for, this work may be it, by a rule of the design that knows less than the generator.
  void guess_all(int work) {
    for (const Wait& wait : waits_)
      if (!wait.query && wait.covers[static_cast<size_t>(work)]) operations_[wait.operation].guess = true;
  }
  // Kernels that are given one block which the host reaches may find the addresses of the others there. So
  // they may write those, too, and may wait there for the CPU to let them go on.
  static bool is_shared(int buffer) { return buffer == kManaged || buffer == kMapped; }
  void reach_beside(int buffer, int piece) {
    if (!is_shared(buffer)) return;
    gates_.set(static_cast<size_t>(piece));
    const int other = buffer == kManaged ? kMapped : kManaged;
    const Buffer& the = buffers_[static_cast<size_t>(other)];
    if (the.writer >= 0) meet(the.writer, piece, true);
    for (const Buffer::Reader& reader : the.readers) meet(reader.work, piece, true);
    for (const int work : reached_[static_cast<size_t>(other)]) meet(work, piece, true);
    reached_[static_cast<size_t>(other)].push_back(piece);
  }
  // By their names, these two may be in each other's way. Where only a wait keeps them in order, that wait
  // may be the one that counts (`beside`), or gpu_access() has said so.
  void meet(int work, int piece, bool beside) {
    if (work == piece || behind_[static_cast<size_t>(piece)][static_cast<size_t>(work)]) return;
    if (!waited_for_[static_cast<size_t>(work)])
      unordered_.push_back({work, piece});
    else if (beside)
      guess_all(work);
  }
  // A piece of work that is given a buffer.
  void meet_others(int buffer, int piece, bool kernel) {
    const Buffer& the = buffers_[static_cast<size_t>(buffer)];
    if (the.writer >= 0) meet(the.writer, piece, false);
    for (const Buffer::Reader& reader : the.readers)
      if (kernel || reader.kernel) meet(reader.work, piece, false);
    for (const int work : reached_[static_cast<size_t>(buffer)]) meet(work, piece, true);
    if (kernel) reach_beside(buffer, piece);
  }
  void used_by_cpu(int buffer) {
    std::erase_if(reached_[static_cast<size_t>(buffer)], [&](int work) {
      if (!waited_for_[static_cast<size_t>(work)]) return false;
      guess_all(work);
      return true;
    });
  }
  // A host function that still runs may wait for the CPU, too, and may touch anything.
  bool lets_host_function_go(const Before& covered) const {
    for (int one = 0; one < works_; ++one) {
      const auto h = static_cast<size_t>(one);
      if (!host_work_[h] || waited_for_[h] || covered[h]) continue;
      for (int other = 0; other < works_; ++other) {
        const auto w = static_cast<size_t>(other);
        if (covered[w] && !behind_[h][w] && !behind_[w][h]) return true;
      }
    }
    return false;
  }
  bool may_wait_for_cpu(int work) const {
    return (behind_[static_cast<size_t>(work)] & gates_ & ~waited_for_).any();
  }
  void order_behind_host_functions(int stream, bool is_one) {
    for (int work = 0; work < works_; ++work) {
      const auto w = static_cast<size_t>(work);
      if ((is_one || host_work_[w]) && known_[w] && !next_in(stream)[w]) depend_on(work, kCell, true);
    }
  }
  void waited(const Before& covered, bool query = false) {
    waits_.push_back({operations_.size() - 1, covered, query});
    if (!query && (covered & host_work_ & ~known_).any()) operations_.back().guess = true;
    if (!query && lets_host_function_go(covered)) operations_.back().guess = true;
    // The CPU may let one go on because the other is done.
    for (const auto& [one, other] : unordered_)
      for (const auto& [done, waiting] : {std::pair(one, other), std::pair(other, one)})
        if (!query && covered[static_cast<size_t>(done)] && !waited_for_[static_cast<size_t>(waiting)] &&
            may_wait_for_cpu(waiting))
          operations_.back().guess = true;
    known_ |= covered;
    if (!query) waited_for_ |= covered;
    operations_.back().waits = !query;
  }
  // It waits, and for what is not documented: nothing here depends on it.
  void waited_somehow() { operations_.back().waits = operations_.back().guess = true; }
  Before everything() const {
    Before all;
    for (const Before& stream : streams_) all |= stream;
    return all;
  }

  // Another thread uses what this work did to the buffer, because this one tells it to go on now: any wait
  // from before may be what it relies on, and none behind. Which, is not known where there are several.
  void use_elsewhere(int work, int buffer) {
    int found = 0;
    for (const Wait& wait : waits_) found += wait.covers[static_cast<size_t>(work)];
    if (found == 1) return depend_on(work, buffer, false);
    for (const Wait& wait : waits_)
      if (!wait.query && wait.covers[static_cast<size_t>(work)]) operations_[wait.operation].guess = true;
    owner_when_used_.try_emplace({work, buffer}, owner(work, buffer));
  }

  // ---- what an access wants to be before it
  std::vector<int> wanted(int buffer, bool writes) const {
    const Buffer& the = buffers_[static_cast<size_t>(buffer)];
    std::vector<int> result;
    if (the.writer >= 0) result.push_back(the.writer);
    if (writes)
      for (const Buffer::Reader& reader : the.readers) result.push_back(reader.work);
    return result;
  }
  void note(int buffer, bool writes, int work, bool kernel = false) {
    Buffer& the = buffers_[static_cast<size_t>(buffer)];
    if (work >= 0) the.history.push_back(work);
    if (writes) {
      the.writer = work;
      the.readers.clear();
    } else if (work >= 0) {
      the.readers.push_back({work, kernel});
    }
  }

  std::vector<Operation> operations_;
  std::array<Before, kStreams> streams_;
  std::array<Before, kEvents> events_;
  std::array<bool, kEvents> doubtful_events_{};
  std::array<Buffer, kBuffers> buffers_;
  std::array<int, kWork> given_{};
  std::array<Before, kWork> behind_{};
  Before gates_;  // kernels that can read what the CPU may write
  std::array<std::vector<int>, kBuffers> reached_;
  std::vector<std::pair<int, int>> unordered_;
  std::map<std::pair<int, int>, int> owner_when_used_;
  Before known_, needed_already_, host_work_;
  Before waited_for_;  // known otherwise than by a query
  std::vector<Wait> waits_;
  int works_ = 0;
};

}  // namespace random_program
