#include <random>

#include "program.h"

namespace random_program {
namespace {

constexpr int kWork = 96;  // pieces of GPU work in one program, at most

// What precedes something, and by which way: by the GPU's own order, or because the program waited (number of
// the wait), or not at all.
constexpr int kNotBefore = -2, kByGpu = -1;
struct Before {
  std::array<int, kWork> way;
  Before() { way.fill(kNotBefore); }
  void join(const Before& other) {
    for (int i = 0; i < kWork; ++i)
      if (other.way[i] == kByGpu || way[i] == kNotBefore) way[i] = other.way[i];
  }
};

struct Buffer {
  int writer = -1;           // piece of work; -1: the CPU, or long ago
  std::vector<int> readers;  // since
};

struct Wait {
  size_t operation;
  std::bitset<kWork> covers;
};

bool is_staged(int buffer) { return buffer == kPageable || buffer == kSmall; }

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 1) {}

  std::vector<Operation> make() {
    while (program_.size() < kOperations / 2 && works_ + 8 < kWork) step();
    // The end waits for everything, and is not part of the program: what was not used by then is its own.
    return std::move(program_);
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }

  Operation& add(Kind kind) {
    program_.push_back({});
    program_.back().kind = kind;
    program_.back().other_thread = chance(20);
    program_.back().value = static_cast<uint32_t>(random_() >> 8);
    program_.back().busy_us = chance(50) ? 5 : 60;
    return program_.back();
  }

  // ---- order
  Before next_in(int stream) const {
    Before result = streams_[stream];
    if (stream == 0) result.join(streams_[3]);
    if (stream == 3) result.join(streams_[0]);
    for (int i = 0; i < works_; ++i)
      if (result.way[i] == kNotBefore && known_[static_cast<size_t>(i)]) result.way[i] = owner(i);
    return result;
  }
  int owner(int work) const {
    for (size_t i = waits_.size(); i-- > 0;)
      if (waits_[i].covers[static_cast<size_t>(work)]) return static_cast<int>(i);
    return kByGpu;
  }
  int give(int stream) {
    streams_[stream] = next_in(stream);
    streams_[stream].way[works_] = kByGpu;
    return works_++;
  }
  void need(int way) {
    if (way >= 0) program_[waits_[static_cast<size_t>(way)].operation].needed = true;
  }
  void waited(const Before& covered) {
    Wait wait{program_.size() - 1, {}};
    for (int i = 0; i < works_; ++i)
      if (covered.way[i] != kNotBefore) wait.covers.set(static_cast<size_t>(i));
    known_ |= wait.covers;
    program_.back().waits = true;
    waits_.push_back(wait);
  }
  Before everything() const {
    Before all;
    for (const Before& stream : streams_) all.join(stream);
    return all;
  }

  // ---- what an access wants to be before it
  std::vector<int> wanted(int buffer, bool writes) const {
    std::vector<int> result;
    if (buffers_[buffer].writer >= 0) result.push_back(buffers_[buffer].writer);
    if (writes) result.insert(result.end(), buffers_[buffer].readers.begin(), buffers_[buffer].readers.end());
    return result;
  }
  void note(int buffer, bool writes, int work) {
    if (writes) {
      buffers_[buffer].writer = work;
      buffers_[buffer].readers.clear();
    } else if (work >= 0) {
      buffers_[buffer].readers.push_back(work);
    }
  }

  int stream_of(int work) const {
    for (int s = 0; s < kStreams; ++s)
      if (given_[static_cast<size_t>(work)] == s) return s;
    return 0;
  }

  // The program has to know that this work is done: a wait of some kind.
  void learn(int work) {
    const int s = stream_of(work);
    switch (below(4)) {
      case 0:
        synchronize_context();
        break;
      case 1:
        record(s);
        synchronize_event(program_.back().event);
        break;
      default:
        synchronize_stream(s);
        break;
    }
  }
  void cpu_access(int buffer, bool writes) {
    for (const int work : wanted(buffer, writes))
      if (!known_[static_cast<size_t>(work)]) learn(work);
    for (const int work : wanted(buffer, writes)) need(owner(work));
  }
  void gpu_access(int buffer, bool writes, int stream) {
    for (const int work : wanted(buffer, writes)) {
      if (next_in(stream).way[work] != kNotBefore) continue;
      if (chance(50)) {
        record(stream_of(work));
        wait_event(stream, program_.back().event);
      } else {
        learn(work);
      }
    }
    for (const int work : wanted(buffer, writes)) need(next_in(stream).way[work]);
  }

  // ---- operations
  void synchronize_context() {
    add(Kind::context);
    waited(everything());
  }
  void synchronize_stream(int s) {
    add(Kind::stream).stream = s;
    waited(streams_[s]);
  }
  void record(int s) {
    Operation& operation = add(Kind::record);
    operation.stream = s;
    operation.event = below(kEvents);
    events_[operation.event] = streams_[s];
  }
  void synchronize_event(int e) {
    add(Kind::event).event = e;
    waited(events_[e]);
  }
  void wait_event(int s, int e) {
    Operation& operation = add(Kind::wait_event);
    operation.stream = s;
    operation.event = e;
    streams_[s].join(events_[e]);
  }
  int submit(int stream) {
    const int work = give(stream);
    given_[static_cast<size_t>(work)] = stream;
    return work;
  }
  void work(Kind kind, int to, int from, int stream) {
    if (to >= 0) gpu_access(to, true, stream);
    if (from >= 0 && from != to) gpu_access(from, false, stream);
    Operation& operation = add(kind);
    operation.to = to;
    operation.from = from;
    operation.stream = stream;
    const int piece = submit(stream);
    if (from >= 0 && from != to) note(from, false, piece);
    note(to, true, piece);
  }
  int device() { return below(kDevice); }
  int host() {
    static constexpr int kinds[] = {kPinnedA, kPinnedB, kRegistered, kPageable, kSmall};
    return kinds[below(5)];
  }
  int reachable() { return chance(70) ? device() : chance(50) ? kManaged : kMapped; }

  // The CPU reads or writes a staged or pageable side in the call.
  void upload(bool now) {
    const int to = device(), from = host(), s = now ? 0 : below(kStreams);
    if (is_staged(from)) {
      cpu_access(from, false);
      gpu_access(to, true, s);
      Operation& operation = add(now ? Kind::upload_now : Kind::upload);
      operation.to = to, operation.from = from, operation.stream = s;
      Before earlier = next_in(s);
      note(to, true, submit(s));
      if (now) waited(earlier), program_.back().guess = true;
      return;
    }
    work(now ? Kind::upload_now : Kind::upload, to, from, s);
    if (now) waited(streams_[0]);
  }
  void download(bool now) {
    const int to = host(), from = device(), s = now ? 0 : below(kStreams);
    if (is_staged(to)) {
      cpu_access(to, true);
      gpu_access(from, false, s);
    }
    work(now ? Kind::download_now : Kind::download, to, from, s);
    if (now || is_staged(to)) waited(streams_[s]);
  }

  void step() {
    switch (below(20)) {
      case 0:
      case 1:
        return work(Kind::fill, reachable(), -1, below(kStreams));
      case 2:
      case 3:
      case 4: {
        const int to = reachable(), from = reachable();
        if (to != from) work(Kind::copy, to, from, below(kStreams));
        return;
      }
      case 5:
      case 6:
        return upload(false);
      case 7:
      case 8:
      case 9:
        return download(false);
      case 10:
        return upload(true);
      case 11:
        return download(true);
      case 12:
        return work(Kind::set, device(), -1, below(kStreams));
      case 13:
      case 14: {
        const int from = kDevice + below(kBuffers - kDevice);
        cpu_access(from, false);
        add(Kind::read).from = from;
        return;
      }
      case 15: {
        const int to = kDevice + below(kBuffers - kDevice);
        cpu_access(to, true);
        add(Kind::write).to = to;
        note(to, true, -1);
        return;
      }
      case 16: {
        const int from = kDevice + below(kBuffers - kDevice);
        cpu_access(from, false);
        add(Kind::call).from = from;
        return;
      }
      case 17:  // a wait for no reason
        if (chance(50)) return synchronize_context();
        return synchronize_stream(below(kStreams));
      case 18:
        if (chance(50)) return record(below(kStreams));
        add(Kind::free_other);
        return waited(everything());
      default:
        if (chance(60)) return;
        // Its pages may not be pinned anew under work; what this call's wait covers beyond that is not leaned
        // on.
        cpu_access(kRegistered, true);
        add(Kind::register_again);
        program_.back().waits = program_.back().guess = true;
        return;
    }
  }

  std::mt19937_64 random_;
  std::vector<Operation> program_;
  std::array<Before, kStreams> streams_;
  std::array<Before, kEvents> events_;
  std::array<Buffer, kBuffers> buffers_;
  std::array<int, kWork> given_{};
  std::bitset<kWork> known_;
  std::vector<Wait> waits_;
  int works_ = 0;
};

}  // namespace

std::vector<Operation> generate(uint64_t seed) {
  std::vector<Operation> program = Generator(seed).make();
  if (program.size() > kOperations) program.resize(kOperations);
  return program;
}

}  // namespace random_program
