#include "analysis/program/gpu_work.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/replay/recorded/stand_ins.h"
#include "analysis/runs/join.h"

namespace diogenes {
namespace {

struct ShapeOrder {
  bool operator()(const LaunchShape& one, const LaunchShape& other) const {
    return memcmp(&one, &other, sizeof one) < 0;
  }
};

// What is summed of one item while pieces come in.
struct Sums {
  std::vector<int64_t> durations;
  std::unordered_map<uint32_t, GpuWorkPath> paths;  // by site
  std::map<LaunchShape, GpuWorkShape, ShapeOrder> shapes;
};

// Of the shares of one site's operations: their sum, and how many there are.
struct SiteShares {
  std::map<uint32_t, double> alone;  // by item
  double operations = 0;
};

int64_t length_of(const GpuPiece& piece) { return (piece.end - piece.begin).count; }

class Collector {
 public:
  Collector(const Run& run, const SiteTable& sites) : run_(run), sites_(sites) {}

  GpuWorkFound collect() {
    found_.mix_of.resize(run_.processes.size());
    for (uint32_t p = 0; p < run_.processes.size(); ++p) add(p);
    if (found_.untimed > 0 && recorded_.count > 0)
      found_.busy = {
          std::llround(static_cast<double>(found_.busy.count) * static_cast<double>(found_.time.count) /
                       static_cast<double>(recorded_.count))};
    finish_items();
    return std::move(found_);
  }

 private:
  void add(uint32_t p) {
    const Process& process = run_.processes[p];
    launches_.clear();
    count_calls(process);
    std::vector<std::pair<int64_t, int64_t>> times;
    found_.mix_of[p].resize(process.threads.size());
    for (uint32_t t = 0; t < process.threads.size(); ++t) {
      const Thread& thread = process.threads[t];
      if (thread.gpu_pieces.empty()) continue;
      std::vector<GpuPiece> pieces = thread.gpu_pieces;
      std::stable_sort(pieces.begin(), pieces.end(), [](const GpuPiece& one, const GpuPiece& other) {
        return one.operation < other.operation;
      });
      auto& mix_of = found_.mix_of[p][t];
      mix_of.assign(thread.operations.size(), GpuWorkFound::kNoMix);
      for (size_t first = 0; first < pieces.size();) {
        size_t next = first;
        while (next < pieces.size() && pieces[next].operation == pieces[first].operation) ++next;
        const std::span<const GpuPiece> of_one(pieces.data() + first, next - first);
        const Operation& operation = thread.operations[of_one[0].operation];
        const int64_t weight = stands_for_[t][of_one[0].operation];
        for (const GpuPiece& piece : of_one) {
          add(piece, item_of(process, piece), p, operation, weight);
          times.emplace_back(piece.begin.count, piece.end.count);
        }
        mix_of[of_one[0].operation] = mix(process, of_one, operation.site);
        first = next;
      }
    }
    add_busy(times);
  }

  // For how many calls each stands whose time was recorded: itself, and those that were left out.
  void count_calls(const Process& process) {
    stands_for_.clear();
    for (const Thread& thread : process.threads) {
      stands_for_.emplace_back(thread.gpu_pieces.empty() ? 0 : thread.operations.size(), 1);
      for (const Operation& operation : thread.operations)
        if (works_on_gpu(operation, sites_)) ++(operation.has(kUntimed) ? found_.untimed : found_.timed);
    }
    for (const StandIn& one : find_stand_ins(process, sites_))
      ++stands_for_[one.recorded.thread][one.recorded.operation];
  }

  uint32_t item_of(const Process& process, const GpuPiece& piece) {
    const uint64_t number = uint64_t{piece.launch} << 8 | static_cast<uint8_t>(piece.work);
    auto [known, fresh] = launches_.try_emplace(number, 0);
    if (!fresh) return known->second;
    const std::string name(process.trace->kernels[piece.launch].name);
    auto [item, first] = items_.try_emplace({piece.work, name}, static_cast<uint32_t>(found_.items.size()));
    if (first) {
      GpuWorkItem& made = found_.items.emplace_back();
      made.kind = piece.work;
      made.name = name;
      made.by_process.resize(run_.processes.size());
      sums_.emplace_back();
    }
    return known->second = item->second;
  }

  // `weight`: for how many calls this one stands.
  void add(const GpuPiece& piece, uint32_t number, uint32_t p, const Operation& operation, int64_t weight) {
    GpuWorkItem& item = found_.items[number];
    Sums& sums = sums_[number];
    const auto count = static_cast<uint64_t>(weight);
    const Nanoseconds time{weight * length_of(piece)};
    recorded_ += {length_of(piece)};
    item.count += count;
    item.time += time;
    item.by_process[p] += time;
    found_.time += time;
    found_.pieces += count;
    sums.durations.push_back(length_of(piece));
    GpuWorkPath& path = sums.paths[operation.site.value];
    path.site = operation.site;
    path.count += count;
    path.time += time;
    if (path.by_process.size() <= p) path.by_process.resize(p + 1);
    path.by_process[p] += time;
    const DriverFunction* function = function_of(sites_[operation.site]);
    item.in_graphs |= function && function->role == Role::graph_launch;
    if (piece.work != GpuWork::kernel) {
      item.bytes.count += count * operation.bytes.count;
      return;
    }
    if (item.name.empty()) found_.unnamed += count;
    GpuWorkShape& shape = sums.shapes[run_.processes[p].trace->kernels[piece.launch].shape];
    shape.count += count;
    shape.time += time;
  }

  // Of one piece its item's own; else the mean of the site, in progress.
  uint32_t mix(const Process& process, std::span<const GpuPiece> pieces, SiteIndex site) {
    if (pieces.size() == 1) return item_of(process, pieces[0]);
    auto [known, fresh] = site_mixes_.try_emplace(site.value, static_cast<uint32_t>(shares_.size()));
    if (fresh) shares_.emplace_back();
    add_alone(process, pieces, shares_[known->second]);
    return kSeveral | known->second;
  }

  void add_alone(const Process& process, std::span<const GpuPiece> pieces, SiteShares& shares) {
    struct Edge {
      int64_t at;
      bool begins;
      uint32_t item;
    };
    std::vector<Edge> edges;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (const GpuPiece& piece : pieces) {
      const uint32_t item = item_of(process, piece);
      edges.push_back({piece.begin.count, true, item});
      edges.push_back({piece.end.count, false, item});
      begin = std::min(begin, piece.begin.count);
      end = std::max(end, piece.end.count);
    }
    ++shares.operations;
    if (end <= begin) return;
    std::sort(edges.begin(), edges.end(),
              [](const Edge& one, const Edge& other) { return one.at < other.at; });
    std::map<uint32_t, uint32_t> running;  // by item: pieces
    int64_t since = begin;
    for (const Edge& edge : edges) {
      if (running.size() == 1)
        shares.alone[running.begin()->first] +=
            static_cast<double>(edge.at - since) / static_cast<double>(end - begin);
      since = edge.at;
      if (edge.begins)
        ++running[edge.item];
      else if (auto one = running.find(edge.item); one != running.end() && --one->second == 0)
        running.erase(one);
    }
  }

  void add_busy(std::vector<std::pair<int64_t, int64_t>>& times) {
    std::sort(times.begin(), times.end());
    int64_t until = INT64_MIN;
    for (auto [begin, end] : times) {
      found_.busy.count += std::max<int64_t>(end - std::max(begin, until), 0);
      until = std::max(until, end);
    }
  }

  void finish_items() {
    std::vector<uint32_t> order(found_.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t one, uint32_t other) {
      return found_.items[one].time > found_.items[other].time;
    });
    std::vector<uint32_t> place(order.size());
    std::vector<GpuWorkItem> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      finish(found_.items[order[i]], sums_[order[i]]);
      sorted.push_back(std::move(found_.items[order[i]]));
      found_.mixes.push_back({{i, 1}});
    }
    found_.items = std::move(sorted);
    for (const SiteShares& shares : shares_) {
      auto& mix = found_.mixes.emplace_back();
      for (auto [item, alone] : shares.alone) mix.push_back({place[item], alone / shares.operations});
      std::stable_sort(mix.begin(), mix.end(),
                       [](const GpuShare& one, const GpuShare& other) { return one.alone > other.alone; });
    }
    for (auto& threads : found_.mix_of)
      for (auto& operations : threads)
        for (uint32_t& mix : operations) {
          if (mix == GpuWorkFound::kNoMix) continue;
          mix = mix & kSeveral ? static_cast<uint32_t>(place.size()) + (mix & ~kSeveral) : place[mix];
        }
  }

  static void finish(GpuWorkItem& item, Sums& sums) {
    const auto middle = sums.durations.begin() + static_cast<ptrdiff_t>(sums.durations.size() / 2);
    std::nth_element(sums.durations.begin(), middle, sums.durations.end());
    item.median = {*middle};
    const auto [shortest, longest] = std::minmax_element(sums.durations.begin(), sums.durations.end());
    item.shortest = {*shortest};
    item.longest = {*longest};
    for (const auto& [site, path] : sums.paths) item.paths.push_back(path);
    for (const auto& [shape, one] : sums.shapes) item.shapes.push_back({shape, one.count, one.time});
    std::sort(item.paths.begin(), item.paths.end(), [](const GpuWorkPath& one, const GpuWorkPath& other) {
      return one.time != other.time ? one.time > other.time : one.site.value < other.site.value;
    });
    std::stable_sort(
        item.shapes.begin(), item.shapes.end(),
        [](const GpuWorkShape& one, const GpuWorkShape& other) { return one.time > other.time; });
    std::erase(item.by_process, Nanoseconds{});
  }

  static constexpr uint32_t kSeveral = 1u << 31;  // a number of `shares_`

  const Run& run_;
  const SiteTable& sites_;
  GpuWorkFound found_;
  std::vector<Sums> sums_;  // by item
  std::map<std::pair<GpuWork, std::string>, uint32_t> items_;
  std::unordered_map<uint64_t, uint32_t> launches_;  // of the process: launch and kind of work, to items
  std::unordered_map<uint32_t, uint32_t> site_mixes_;
  std::vector<SiteShares> shares_;
  std::vector<std::vector<uint32_t>> stands_for_;  // of the process, by thread and operation
  Nanoseconds recorded_;                           // of all pieces, without what they stand for
};

// Which thread of a run an operation is in, by its address.
class ThreadOf {
 public:
  explicit ThreadOf(Run& run) {
    for (Process& process : run.processes)
      for (Thread& thread : process.threads)
        if (!thread.operations.empty())
          threads_[thread.operations.data() + thread.operations.size()] = &thread;
  }
  Thread& operator()(const Operation* operation) const { return *threads_.upper_bound(operation)->second; }

 private:
  std::map<const Operation*, Thread*> threads_;  // by the end of its operations
};

}  // namespace

GpuWorkFound find_gpu_work(const Run& gpu_run, const SiteTable& sites) {
  return Collector(gpu_run, sites).collect();
}

void join_gpu_work(Run& tracing, const Run& gpu_run, const SiteTable& sites, GpuWorkFound& found) {
  if (found.pieces == 0) return;
  for (Process& process : tracing.processes)
    for (Thread& thread : process.threads)
      thread.gpu_mix.assign(thread.operations.size(), GpuWorkFound::kNoMix);
  const ThreadOf thread_of(tracing);
  std::vector<std::map<uint32_t, uint32_t>> by_site(sites.size());
  join_operations(tracing, gpu_run, sites,
                  [&](Operation* operation, const Process& process, const Thread& thread, uint32_t index) {
                    const auto p = static_cast<size_t>(&process - gpu_run.processes.data());
                    const auto& mixes =
                        found.mix_of[p][static_cast<size_t>(&thread - process.threads.data())];
                    if (index >= mixes.size() || mixes[index] == GpuWorkFound::kNoMix) return;
                    ++by_site[thread.operations[index].site.value][mixes[index]];
                    if (!operation) return;
                    Thread& to = thread_of(operation);
                    to.gpu_mix[static_cast<size_t>(operation - to.operations.data())] = mixes[index];
                  });
  std::vector<uint32_t> usual(sites.size(), GpuWorkFound::kNoMix);
  for (size_t site = 0; site < by_site.size(); ++site) {
    uint32_t most = 0;
    for (auto [mix, count] : by_site[site])
      if (count > most) most = count, usual[site] = mix;
  }
  for (Process& process : tracing.processes)
    for (Thread& thread : process.threads)
      for (size_t i = 0; i < thread.operations.size(); ++i) {
        const Operation& operation = thread.operations[i];
        if (thread.gpu_mix[i] == GpuWorkFound::kNoMix && operation.gpu.count >= 0 && !operation.has(kFailed))
          thread.gpu_mix[i] = usual[operation.site.value];
      }
  found.mix_of.clear();
}

}  // namespace diogenes
