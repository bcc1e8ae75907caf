#include "analysis/runs/run.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "analysis/runs/near_search.h"

namespace diogenes {
namespace {

Nanoseconds time_of(uint32_t count, uint8_t flags) {
  return {static_cast<int64_t>(count) * ((flags & kCoarseTimes) ? 1024 : 1)};
}

// It may be cut within a letter, and may hold anything: what a terminal would obey is a question mark.
std::string name_of(const RangeRecord& record) {
  std::string name(record.name, strnlen(record.name, sizeof record.name));
  const bool cut = name.size() == sizeof record.name;
  while (cut && !name.empty() && (name.back() & 0xc0) == 0x80) name.pop_back();
  if (cut && !name.empty() && (name.back() & 0x80) != 0) name.pop_back();
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return name;
}

// Small copies right behind each other, of one call, whose device memory lies side by side: one copy would do.
class SmallCopies {
 public:
  // Out: how many copies that makes in a row, with this one.
  uint32_t add(const TransferRecord& record, uint32_t sequence, SiteIndex site, uint32_t stream) {
    const bool to_device = record.destination_kind == MemoryKind::device;
    const bool small = record.bytes > 0 && record.bytes <= kMostBytes &&
                       to_device != (record.source_kind == MemoryKind::device);
    const uint64_t address = to_device ? record.destination : record.source;
    const bool behind = small && length_ > 0 && sequence == last_ + 1 && site == site_ && stream == stream_ &&
                        to_device == to_device_ && address == end_;
    length_ = behind ? length_ + 1 : small;
    last_ = sequence, site_ = site, stream_ = stream, to_device_ = to_device, end_ = address + record.bytes;
    return length_;
  }
  static constexpr uint32_t kFewest = 8;

 private:
  static constexpr uint64_t kMostBytes = 16 * 1024;
  uint64_t end_ = 0;
  uint32_t last_ = 0, length_ = 0, stream_ = 0;
  SiteIndex site_;
  bool to_device_ = false;
};

struct AllocationEvent {
  Nanoseconds at;
  uint64_t address = 0, bytes = 0;
  bool released = false;
  uint32_t thread = 0, sequence = 0;  // `thread`: position in Process::threads
};

class ThreadLoader {
 public:
  ThreadLoader(Process& process, uint32_t thread, SiteTable& sites, std::vector<AllocationEvent>& allocations,
               PeerAccesses& peers)
      : process_(process), thread_(thread), sites_(sites), allocations_(allocations), peers_(peers) {}

  void operator()(const OperationRecord& record, uint32_t) {
    Operation operation;
    operation.flags = record.flags;
    operation.begin = {std::clamp<int64_t>(record.begin_ns, 0, kLatestTime)};
    operation.call = time_of(record.call, record.flags);
    operation.waited = std::min(time_of(record.waited, record.flags), operation.call);
    operation.site = site_of(record.function, record.stack);
    stream_ = record.stream;
    const DriverFunction* function = driver_function(record.function);
    operation.ptx = function && function->has(Trait::image_argument) &&
                    record.object == static_cast<uint32_t>(CodeImage::ptx);
    operations().push_back(operation);
  }
  void operator()(const TransferRecord& record, uint32_t sequence) {
    operations()[sequence].bytes = {record.bytes};
    operations()[sequence].pageable =
        record.destination_kind == MemoryKind::pageable || record.source_kind == MemoryKind::pageable;
    const uint32_t in_a_row = small_.add(record, sequence, operations()[sequence].site, stream_);
    if (in_a_row < SmallCopies::kFewest) return;
    const uint32_t first = in_a_row == SmallCopies::kFewest ? sequence + 2 - in_a_row : sequence;
    for (uint32_t i = first; i <= sequence; ++i) operations()[i].adjoins = true;
  }
  void operator()(const AllocationRecord& record, uint32_t sequence) {
    if (operations()[sequence].has(kFailed)) return;
    allocations_.push_back({operations()[sequence].begin, record.address, record.bytes, record.released != 0,
                            thread_, sequence});
  }
  void operator()(const CallRecord& record, uint32_t sequence) {
    operations()[sequence].left_out = (record.flags & kNotLookedAt) != 0;
  }
  void operator()(const RecordingRecord& record, uint32_t sequence) {
    auto sane = [](int64_t ns) { return Nanoseconds{std::clamp<int64_t>(ns, 0, kLatestTime)}; };
    auto& recordings = process_.threads[thread_].long_recordings;
    if (recordings.empty() || recordings.back().operation != sequence)
      recordings.push_back({sequence, sane(record.before_ns), sane(record.after_ns)});
  }
  void operator()(const RangeRecord& record, uint32_t) {
    if (record.edge == RangeEdge::other)
      process_.other_ranges.push_back(name_of(record));
    else
      process_.range_marks.push_back(
          {{std::clamp<int64_t>(record.at_ns, 0, kLatestTime)}, record.edge == RangeEdge::begin});
  }
  void operator()(const PeerAccessRecord& record, uint32_t) { peers_.add(process_.trace->process, record); }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

 private:
  std::vector<Operation>& operations() { return process_.threads[thread_].operations; }

  // A process's stacks are interned, so the key is computed once for each function and stack.
  SiteIndex site_of(uint16_t function, uint32_t stack) {
    auto [found, fresh] = known_.try_emplace((uint64_t{function} << 32) | stack);
    if (fresh) found->second = sites_.site_of(*process_.trace, function, stack);
    return found->second;
  }

  Process& process_;
  uint32_t thread_;
  SiteTable& sites_;
  std::vector<AllocationEvent>& allocations_;
  PeerAccesses& peers_;
  std::unordered_map<uint64_t, SiteIndex> known_;
  SmallCopies small_;
  uint32_t stream_ = 0;  // of the operation that was read last
};

class EvidenceLoader {
 public:
  EvidenceLoader(Run& run, Process& process) : run_(run) {
    for (Thread& thread : process.threads) by_ordinal_[thread.ordinal] = &thread;
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
  void operator()(const HashRecord& record, uint32_t) {
    Thread* thread = thread_of(record.thread, record.sequence);
    if (!thread) return;
    if (record.pattern_bytes > 0)
      thread->evidence[record.sequence].constant = record.pattern == 0         ? Constant::zero
                                                   : record.pattern_bytes == 1 ? Constant::bytes
                                                                               : Constant::words;
    thread->contents.push_back({{record.hash[0], record.hash[1]}, record.sequence, record.held});
  }

 private:
  Thread* thread_of(uint16_t thread, uint32_t sequence) {
    auto found = by_ordinal_.find(thread);
    if (found == by_ordinal_.end() || sequence >= found->second->evidence.size()) {
      ++run_.misplaced_records;
      return nullptr;
    }
    return found->second;
  }

  Run& run_;
  std::unordered_map<uint32_t, Thread*> by_ordinal_;
};

class GpuTimesLoader {
 public:
  explicit GpuTimesLoader(Run& run, Process& process) : run_(run) {
    for (Thread& thread : process.threads) by_ordinal_[thread.ordinal] = &thread;
  }
  void operator()(const GpuTimeRecord& record, uint32_t) {
    auto found = by_ordinal_.find(record.thread);
    if (found == by_ordinal_.end()) {
      ++run_.misplaced_records;
      return;
    }
    const uint32_t before = found->second->first_sequence, sequence = record.sequence - before;
    if (sequence >= found->second->operations.size()) {
      run_.misplaced_records += before == 0;  // else of another window
      return;
    }
    if (record.begin_ns < 0 || record.end_ns < record.begin_ns || record.end_ns > kLatestTime) return;
    auto& times = found->second->gpu_times;
    if (times.empty()) times.resize(found->second->operations.size());
    RecordedGpuTime& time = times[sequence];
    bool first = time.end.count < 0;
    time.begin.count = first ? record.begin_ns : std::min(time.begin.count, record.begin_ns);
    time.end.count = std::max(time.end.count, record.end_ns);
    const uint32_t launch = record.launch <= LaunchFile::kMostLaunches ? record.launch : 0;
    const GpuWork work = record.work <= static_cast<uint8_t>(GpuWork::fill)
                             ? static_cast<GpuWork>(record.work)
                             : GpuWork::other;
    found->second->gpu_pieces.push_back({{record.begin_ns}, {record.end_ns}, sequence, launch, work});
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

 private:
  Run& run_;
  std::unordered_map<uint32_t, Thread*> by_ordinal_;
};

bool has_operations(const ProcessTrace& trace) {
  return std::any_of(trace.threads.begin(), trace.threads.end(),
                     [](const ThreadTrace& thread) { return thread.operation_count() > 0; });
}

// Each allocation takes what its own call allocated, and somebody released, last.
void note_reuses(Process& process, const std::vector<AllocationEvent>& events) {
  using Kept = std::vector<const AllocationEvent*>;
  std::map<std::pair<uint32_t, uint64_t>, Kept> kept;       // by site and size
  std::unordered_map<uint64_t, const AllocationEvent*> at;  // allocations, by address
  auto site_of = [&](const AllocationEvent& event) {
    return process.threads[event.thread].operations[event.sequence].site.value;
  };
  for (const AllocationEvent& event : events) {
    if (event.released) {
      auto made = at.find(event.address);
      if (made == at.end()) continue;
      kept[{site_of(*made->second), made->second->bytes}].push_back(&event);
      at.erase(made);
      continue;
    }
    at[event.address] = &event;
    if (event.bytes == 0) continue;
    auto found = kept.find({site_of(event), event.bytes});
    if (found == kept.end() || found->second.empty()) continue;
    const AllocationEvent& released = *found->second.back();
    found->second.pop_back();
    process.reuses.push_back({{released.thread, released.sequence}, {event.thread, event.sequence}});
  }
}

// A release whose size is allocated again later: memory that a pool, or moving both calls out of a loop,
// would keep.
void mark_reused(Process& process, std::vector<AllocationEvent>& events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const AllocationEvent& a, const AllocationEvent& b) { return a.at < b.at; });
  std::unordered_map<uint64_t, uint64_t> size_at;
  for (AllocationEvent& event : events) {
    if (!event.released)
      size_at[event.address] = event.bytes;
    else if (event.bytes == 0)
      event.bytes = size_at.contains(event.address) ? size_at[event.address] : 0;
  }
  note_reuses(process, events);
  std::unordered_map<uint64_t, uint64_t> allocated_later;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->bytes == 0) continue;
    uint64_t& later = allocated_later[event->bytes];
    if (!event->released) {
      ++later;
    } else if (later > 0) {
      --later;
      process.threads[event->thread].operations[event->sequence].reused = true;
    }
  }
}

// The operations of one process, in all its threads.
void load_operations(Process& process, SiteTable& sites, PeerAccesses& peers, bool with_evidence) {
  std::vector<AllocationEvent> allocations;
  for (const ThreadTrace& thread : process.trace->threads) {
    Thread& loaded = process.threads.emplace_back();
    loaded.ordinal = thread.ordinal();
    loaded.first_sequence = thread.first_sequence();
    // Ids are given in turn, and from the first again when the last was given.
    loaded.behind_main = thread.tid() - static_cast<uint32_t>(process.trace->process.pid);
    loaded.main = loaded.behind_main == 0;
    loaded.operations.reserve(thread.operation_count());
    thread.visit(
        ThreadLoader(process, static_cast<uint32_t>(process.threads.size() - 1), sites, allocations, peers));
    if (with_evidence) loaded.evidence.resize(loaded.operations.size());
    thread.release_pages();
  }
  mark_reused(process, allocations);
}

template <typename Loader>
void load_more(Run& run, Process& process) {
  Loader loader(run, process);
  for (const ThreadTrace& thread : process.trace->threads) {
    thread.visit(loader);
    thread.release_pages();
  }
}

// Of one copy the last that was recorded stays.
void sort_contents(std::vector<CopyContent>& contents) {
  auto before = [](const CopyContent& one, const CopyContent& other) {
    return one.operation < other.operation;
  };
  if (!std::is_sorted(contents.begin(), contents.end(), before))
    std::stable_sort(contents.begin(), contents.end(), before);
  auto same = [](const CopyContent& one, const CopyContent& other) {
    return one.operation == other.operation;
  };
  contents.erase(contents.begin(), std::unique(contents.rbegin(), contents.rend(), same).base());
}

}  // namespace

void load_gpu_times(Run& run) {
  for (Process& process : run.processes) load_more<GpuTimesLoader>(run, process);
}

void load_rest(Run& run) {
  for (Process& process : run.processes) {
    if (process.trace->process.gpu_times == GpuTimesState::taken) load_more<GpuTimesLoader>(run, process);
    load_more<EvidenceLoader>(run, process);
    for (Thread& thread : process.threads) sort_contents(thread.contents);
  }
}

Result<Run> load_run(const std::filesystem::path& stage_folder, SiteTable& sites, Load load,
                     const std::optional<Window>& window) {
  auto stage = read_stage(stage_folder);
  if (!stage) return stage.error();
  if (window) clip(*stage, *window);
  Run run;
  run.trace = std::move(*stage);
  std::map<std::pair<int, std::string>, int> seen;
  for (const ProcessTrace& trace : run.trace.processes) {
    Process& process = run.processes.emplace_back();
    process.trace = &trace;
    std::string executable = std::filesystem::path(trace.process.executable).filename().string();
    // One that only reached into others left a trace in some runs, and none in those before.
    const bool uses_gpu = trace.process.used_cuda || has_operations(trace);
    process.identity = uses_gpu ? std::to_string(trace.process.rank) + "/" + executable + "/" +
                                      std::to_string(seen[{trace.process.rank, executable}]++)
                                : "without CUDA";
    load_operations(process, sites, run.peers, load == Load::evidence);
  }
  if (load == Load::gpu_times) load_gpu_times(run);
  run.peers.sort();
  return run;
}

const CopyContent* content_of(const Thread& thread, uint32_t operation, size_t& near) {
  const auto begin = thread.contents.begin(), end = thread.contents.end();
  const auto from = begin + static_cast<ptrdiff_t>(std::min(near, thread.contents.size()));
  const auto found = partition_point_near(
      begin, from, end, [&](const CopyContent& content) { return content.operation < operation; });
  near = static_cast<size_t>(found - begin);
  return found != end && found->operation == operation ? &*found : nullptr;
}

}  // namespace diogenes
