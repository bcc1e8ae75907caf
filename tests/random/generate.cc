#include <random>

#include "order.h"
#include "program.h"

namespace random_program {
namespace {

bool is_staged(int buffer) {
  return buffer == kPageable || buffer == kLarge || buffer == kHeap || buffer == kStack || buffer == kGlobal;
}

class Generator : Order {
 public:
  Generator(uint64_t seed, Variety variety)
      : random_(seed * 0x9e3779b97f4a7c15 + 1),
        host_functions_(has_host_functions(seed) && variety == Variety::usual),
        variety_(variety) {
    // As solvers have them: a norm, a few counters, seldom a small matrix.
    for (uint32_t& bytes : small_bytes_)
      bytes = 4 * static_cast<uint32_t>(1 + below(chance(60) ? 4 : chance(60) ? 8 : 16));
    threads_ = chance(25) ? kThreads : 2;
  }

  Program make() {
    while (operations_.size() < kOperations / 2 && works_ + 12 < kWork) step();
    if (lent_ != kNobody) take_in();
    // The end waits for everything, and is not part of the program: what was not used by then is its own.
    return {std::move(operations_), small_bytes_};
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }

  Operation& add(Kind kind) {
    operations_.push_back({});
    Operation& operation = operations_.back();
    operation.kind = kind;
    operation.thread = chance(25) ? 1 + below(threads_ - 1) : 0;
    // One call, and so one stack.
    if (variety_ == Variety::again && (kind == Kind::free_again || kind == Kind::pinned_again))
      operation.thread = 0;
    operation.value = static_cast<uint32_t>(random_() >> 8);
    operation.busy_us = chance(50) ? 5 : 60;
    return operation;
  }

  // The program has to know that this work is done: a wait of some kind.
  void learn(int work) {
    const int s = given_[static_cast<size_t>(work)];
    switch (below(10)) {
      case 0:
      case 1:
        return synchronize_context();
      case 2:
      case 3:
        record(s);
        return synchronize_event(operations_.back().event);
      case 4:
        if (chance(50)) return query_stream(s);
        record(s);
        return query_event(operations_.back().event);
      default:
        return synchronize_stream(s);
    }
  }
  // Before memory is released or pinned anew: nothing of it is used, but the GPU had better be done with it.
  void done_with(int buffer) {
    for (const int work : wanted(buffer, true))
      if (!known_[static_cast<size_t>(work)]) learn(work);
    for (const int work : wanted(buffer, true))
      if (const int by = owner(work, buffer); by != kNobody)
        operations_[waits_[static_cast<size_t>(by)].operation].guess = true;
  }
  void cpu_access(int buffer, bool writes) {
    used_by_cpu(buffer);
    for (const int work : wanted(buffer, writes))
      if (!known_[static_cast<size_t>(work)]) learn(work);
    for (const int work : wanted(buffer, writes)) depend_on(work, buffer, false);
  }
  void gpu_access(int buffer, bool writes, int stream, bool kernel) {
    for (const int work : wanted(buffer, writes)) {
      if (next_in(stream)[static_cast<size_t>(work)] || known_[static_cast<size_t>(work)]) continue;
      if (chance(50)) {
        record(given_[static_cast<size_t>(work)]);
        wait_event(stream, operations_.back().event);
      } else {
        learn(work);
      }
    }
    for (const int work : wanted(buffer, writes))
      if (!next_in(stream)[static_cast<size_t>(work)]) depend_on(work, buffer, true);
    if (writes) return;
    // Two that only read need no order, but nobody can tell that from their names. Where a wait came between
    // them, it ordered them.
    for (const Buffer::Reader& reader : buffers_[static_cast<size_t>(buffer)].readers)
      if ((kernel || reader.kernel) && !next_in(stream)[static_cast<size_t>(reader.work)])
        depend_on(reader.work, buffer, true);
  }

  // ---- operations
  void synchronize_context() {
    add(Kind::context);
    waited(everything());
  }
  void synchronize_stream(int s) {
    add(Kind::stream).stream = s;
    waited(streams_[static_cast<size_t>(s)]);
    if (others_are_ahead(s)) operations_.back().guess = true;
  }
  // New work on the legacy stream would wait for the blocking ones; that its synchronization or an event
  // there does is not documented.
  bool others_are_ahead(int s) const { return s == 0 && (streams_[3] & ~streams_[0] & ~known_).any(); }
  void record(int s) {
    Operation& operation = add(Kind::record);
    operation.stream = s;
    operation.event = below(kEvents);
    const auto e = static_cast<size_t>(operation.event);
    events_[e] = streams_[static_cast<size_t>(s)];
    doubtful_events_[e] = others_are_ahead(s);
  }
  void synchronize_event(int e) {
    add(Kind::event).event = e;
    waited(events_[static_cast<size_t>(e)]);
    if (doubtful_events_[static_cast<size_t>(e)]) operations_.back().guess = true;
  }
  void query_event(int e) {
    add(Kind::query_event).event = e;
    waited(events_[static_cast<size_t>(e)], true);
  }
  void query_stream(int s) {
    add(Kind::query_stream).stream = s;
    waited(streams_[static_cast<size_t>(s)], true);
  }
  void wait_event(int s, int e) {
    Operation& operation = add(Kind::wait_event);
    operation.stream = s;
    operation.event = e;
    streams_[static_cast<size_t>(s)] |= events_[static_cast<size_t>(e)];
  }
  void work(Kind kind, int to, int from, int stream) {
    if (to >= 0) gpu_access(to, true, stream, has_kernel(kind));
    if (from >= 0 && from != to) gpu_access(from, false, stream, has_kernel(kind));
    Operation& operation = add(kind);
    operation.to = to;
    operation.from = from;
    operation.stream = stream;
    const int piece = give(stream, kind == Kind::host_function);
    for (const int buffer : {to, from})
      if (buffer >= 0) meet_others(buffer, piece, has_kernel(kind));
    if (from >= 0 && from != to) note(from, false, piece, has_kernel(kind));
    note(to, true, piece);
  }
  void graph(int stream) {
    std::array<Node, kNodes> nodes{};
    const int count = 1 + below(kNodes);
    for (int i = 0; i < count; ++i) {
      Node& node = nodes[static_cast<size_t>(i)];
      const int kind = below(5);
      node.kind = kind == 0   ? Kind::fill
                  : kind == 1 ? Kind::copy
                  : kind == 2 ? Kind::set
                  : kind == 3 ? Kind::upload
                              : Kind::download;
      node.to = node.kind == Kind::download ? dma_host() : node.kind == Kind::fill ? reachable() : device();
      if (node.kind == Kind::copy || node.kind == Kind::download) node.from = device();
      if (node.kind == Kind::upload) node.from = dma_host();
      if (node.to == node.from) node.kind = Kind::set, node.from = -1;
      gpu_access(node.to, true, stream, has_kernel(node.kind));
      if (node.from >= 0) gpu_access(node.from, false, stream, has_kernel(node.kind));
    }
    Operation& operation = add(Kind::graph);
    operation.stream = stream;
    operation.nodes = nodes;
    operation.node_count = count;
    const int piece = give(stream);
    for (int i = 0; i < count; ++i) {
      const Node& node = nodes[static_cast<size_t>(i)];
      for (const int buffer : {node.to, node.from})
        if (buffer >= 0) meet_others(buffer, piece, has_kernel(node.kind));
      if (node.from >= 0) note(node.from, false, piece, has_kernel(node.kind));
    }
    for (int i = 0; i < count; ++i) note(nodes[static_cast<size_t>(i)].to, true, piece);
  }
  int device() { return below(ordered_lives_ ? kDevice : kOrdered); }
  // Never the one that is lent to another thread.
  template <typename Pick>
  int not_lent(Pick pick) {
    int buffer = pick();
    while (buffer == lent_) buffer = pick();
    return buffer;
  }
  int dma_host() {
    static constexpr int kinds[] = {kPinnedA, kPinnedB, kRegistered};
    return not_lent([&] { return kinds[below(3)]; });
  }
  int host() {
    static constexpr int kinds[] = {kPinnedA, kPinnedB, kRegistered, kPageable, kLarge,
                                    kHeap,    kStack,   kGlobal,     kPinnedA,  kRegistered};
    return not_lent([&] { return kinds[below(10)]; });
  }
  int reachable() {
    return not_lent([&] { return chance(70) ? device() : chance(50) ? kManaged : kMapped; });
  }
  int of_the_cpu() {
    return not_lent([&] {
      const int buffer = kDevice + below(kBuffers - kDevice);
      return buffer != kCell || host_functions_ ? buffer : kPinnedA;
    });
  }

  // The CPU reads or writes a staged or pageable side in the call.
  void upload(bool now) {
    const int to = device(), from = host(), s = now ? 0 : below(kStreams);
    if (!is_staged(from)) {
      work(now ? Kind::upload_now : Kind::upload, to, from, s);
      if (now) waited(streams_[0]);
      return;
    }
    cpu_access(from, false);
    gpu_access(to, true, s, false);
    Operation& operation = add(now ? Kind::upload_now : Kind::upload);
    operation.to = to, operation.from = from, operation.stream = s;
    const Before earlier = next_in(s);
    note(to, true, give(s));
    // Its own last piece may still be under way. A large asynchronous one waits for the copies before it.
    if (now) waited(earlier);
    if (!now && from == kLarge) waited_somehow();
  }
  void download(bool now) { download(now, host()); }
  void download(bool now, int to) {
    const int from = device(), s = now ? 0 : below(kStreams);
    if (is_staged(to)) {
      cpu_access(to, true);
      gpu_access(from, false, s, false);
    }
    work(now ? Kind::download_now : Kind::download, to, from, s);
    if (now || is_staged(to)) waited(streams_[static_cast<size_t>(s)]);
  }
  void set_now() {
    static constexpr int kinds[] = {kManaged, kMapped, kPinnedA, kPinnedB};
    work(Kind::set_now, not_lent([&] { return kinds[below(4)]; }), -1, 0);
    waited(streams_[0]);
  }
  void host_function() {
    const int from = chance(50) ? dma_host() : kManaged, s = below(kStreams);
    work(Kind::host_function, kCell, from, s);
  }
  void ordered() {
    const int s = below(kStreams);
    if (ordered_lives_) {
      work(Kind::free_ordered, kOrdered, -1, s);
      ordered_lives_ = false;
      return;
    }
    buffers_[kOrdered] = {};
    work(Kind::alloc_ordered, kOrdered, -1, s);
    ordered_lives_ = true;
    work(Kind::set, kOrdered, -1, s);
  }
  // The memory of a release is not used by it, and what comes in its place is new.
  void free_again() {
    const int to = below(kOrdered);
    add(Kind::free_again).to = to;
    waited(everything());
    buffers_[static_cast<size_t>(to)] = {};
    work(Kind::set, to, -1, below(kStreams));
  }
  void pinned_again() {
    const int to = not_lent([&] { return chance(50) ? kPinnedA : kPinnedB; });
    done_with(to);
    add(Kind::pinned_again).to = to;
    waited_somehow();
    buffers_[static_cast<size_t>(to)] = {};
  }
  void register_again() {
    if (lent_ == kRegistered) return;
    done_with(kRegistered);
    add(Kind::register_again);
    waited_somehow();
  }

  // The thread of the hand-overs gets a buffer; until it has given it back, nobody else touches that.
  void lend() {
    if (lent_ != kNobody) return take_in();
    const int buffer = chance(70) ? host() : of_the_cpu();
    const bool writes = chance(30);
    if (buffer != kManaged && buffer != kMapped && buffer != kCell && chance(80))
      download(false, buffer);
    else if (buffer == kManaged || buffer == kMapped)
      work(Kind::fill, buffer, -1, below(kStreams));
    int stream = below(kStreams);
    for (const int work : wanted(buffer, writes)) {
      stream = given_[static_cast<size_t>(work)];
      if (!known_[static_cast<size_t>(work)]) learn(work);
    }
    for (const int work : wanted(buffer, writes)) use_elsewhere(work, buffer);
    Operation& operation = add(Kind::lend);
    operation.thread = 0;
    operation.how = below(kHows);
    (writes ? operation.to : operation.from) = buffer;
    if (writes) note(buffer, true, kNobody);
    lent_ = buffer;
    if (chance(40)) return;
    // The program waits again, for later work of the same stream.
    work(Kind::set, device(), -1, stream);
    synchronize_stream(stream);
  }
  void take_in() {
    add(Kind::take_in).thread = 0;
    lent_ = kNobody;
  }
  // Work that waits for the program in its stream; what it must be behind, and is not yet known, is waited
  // for before it is let go.
  void gate() {
    const int s = 1 + below(2);
    const int buffer = device();
    work(Kind::fill, buffer, -1, below(kStreams));
    static constexpr Kind kinds[] = {Kind::copy, Kind::download, Kind::set, Kind::upload};
    const Kind kind = kinds[below(4)];
    int to = buffer, from = -1;
    if (kind == Kind::copy) from = buffer, to = reachable();
    if (kind == Kind::download) from = buffer, to = dma_host();
    if (kind == Kind::upload) from = dma_host();
    if (to == from) return;
    const bool kernel = has_kernel(kind);
    std::vector<std::pair<int, int>> before;  // work, and the buffer
    for (const int work : wanted(to, true)) before.push_back({work, to});
    if (from >= 0)
      for (const int work : wanted(from, false)) before.push_back({work, from});
    const Before ordered_before = next_in(s);
    std::erase_if(before,
                  [&](const auto& one) { return ordered_before.test(static_cast<size_t>(one.first)); });
    // What is known by now is known when the work is given.
    for (const auto& [work, which] : before)
      if (known_[static_cast<size_t>(work)]) depend_on(work, which, true);
    if (from >= 0)
      for (const Buffer::Reader& reader : buffers_[static_cast<size_t>(from)].readers)
        if ((kernel || reader.kernel) && !ordered_before.test(static_cast<size_t>(reader.work)))
          depend_on(reader.work, from, true);
    const int flag = static_cast<int>(operations_.size());
    Operation& poll = add(Kind::poll);
    poll.stream = s, poll.event = flag;
    give(s);
    Operation& operation = add(kind);
    operation.to = to, operation.from = from, operation.stream = s;
    const int piece = give(s);
    for (const auto& [work, which] : before) {
      if (known_[static_cast<size_t>(work)]) continue;
      synchronize_stream(given_[static_cast<size_t>(work)]);
      depend_on(work, which, true);
    }
    add(Kind::open).event = flag;
    if (from >= 0) note(from, false, piece, kernel);
    note(to, true, piece);
  }

  void step() {
    if (variety_ == Variety::again && chance(25)) return chance(30) ? free_again() : pinned_again();
    if (variety_ == Variety::hand_over && chance(20)) return chance(70) ? lend() : gate();
    switch (below(26)) {
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
        if (chance(40)) return set_now();
        return work(Kind::set, device(), -1, below(kStreams));
      case 13:
      case 14:
      case 15: {
        const int from = of_the_cpu();
        cpu_access(from, false);
        add(Kind::read).from = from;
        return;
      }
      case 16: {
        const int to = of_the_cpu();
        cpu_access(to, true);
        add(Kind::write).to = to;
        note(to, true, kNobody);
        return;
      }
      case 17:
      case 18: {
        const int from = of_the_cpu();
        cpu_access(from, false);
        add(Kind::call).from = from;
        return;
      }
      case 19:
      case 20:  // a wait for no reason
        if (chance(50)) return synchronize_context();
        return synchronize_stream(below(kStreams));
      case 21:
        if (chance(50)) return record(below(kStreams));
        add(Kind::free_other);
        return waited(everything());
      case 22:
        return graph(below(kStreams));
      case 23:
        if (host_functions_) return host_function();
        return ordered();
      case 24:
        return ordered();
      default:
        if (chance(50)) return free_again();
        if (chance(40)) return pinned_again();
        if (chance(50)) return register_again();
        return;
    }
  }

  std::mt19937_64 random_;
  bool host_functions_, ordered_lives_ = false;
  Variety variety_;
  int lent_ = kNobody;
  int threads_ = 2;
  std::array<uint32_t, 3> small_bytes_{};
};

}  // namespace

bool has_host_functions(uint64_t seed) { return seed % 10 == 9; }

Program generate(uint64_t seed, Variety variety) {
  Program program = Generator(seed, variety).make();
  if (program.operations.size() > kOperations) program.operations.resize(kOperations);
  return program;
}

}  // namespace random_program
