#include "analysis/replay/replay.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "analysis/runs/near_search.h"

namespace diogenes {
namespace {

using namespace replay;

// Does it take only CPU work from before its node?
bool takes_only_work(const Edit& edit) {
  return !edit.call_removed && !edit.wait_removed && !edit.own_stream && !edit.on_gpu && edit.own < 0 &&
         edit.use_node == kNone;
}

// What is taken from the work before a node, and what is changed at the node itself, become one edit.
void unite(std::vector<Edit>& edits) {
  size_t kept = 0;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (kept == 0 || edits[kept - 1].position() != edits[i].position()) {
      edits[kept++] = edits[i];
      continue;
    }
    Edit& one = edits[kept - 1];
    int64_t before = one.before + edits[i].before;
    if (!takes_only_work(edits[i])) one = edits[i];
    one.before = before;
  }
  edits.resize(kept);
}

// Both, sorted; of edits to one node that in `edits`, with what both take from the work before it.
std::vector<Edit> replaced(const std::vector<Edit>& before, const std::vector<Edit>& edits) {
  std::vector<Edit> all;
  all.reserve(before.size() + edits.size());
  auto next = before.begin();
  for (const Edit& edit : edits) {
    while (next != before.end() && next->position() < edit.position()) all.push_back(*next++);
    all.push_back(edit);
    if (next == before.end() || next->position() != edit.position()) continue;
    if (takes_only_work(edit)) all.back() = *next;
    all.back().before = edit.before + (next++)->before;
  }
  all.insert(all.end(), next, before.end());
  return all;
}

// The first node of `operation` or of a later one. `near`: where it likely is, or before that.
std::vector<Node>::const_iterator node_of(const std::vector<Node>& nodes,
                                          std::vector<Node>::const_iterator near, uint32_t operation) {
  // No operation has two nodes, so it is no further on; where all have one, it is there.
  if (near != nodes.end() && near->operation <= operation &&
      operation - near->operation < nodes.end() - near) {
    const auto furthest = near + (operation - near->operation);
    if (furthest->operation == operation) return furthest;
  }
  return partition_point_near(nodes.begin(), near, nodes.end(),
                              [operation](const Node& node) { return node.operation < operation; });
}

}  // namespace

struct Replay::Part {
  Part(std::shared_ptr<const Schedule> recorded, const KnownTimes& times, const Machine& machine,
       const ProcessFile& of)
      : model(std::move(recorded), times, machine), process(of), begin(of.started_ns) {}

  // Takes turns on one GPU with the other process.
  bool shares_gpu_with(const Part& other) const {
    constexpr uint8_t kUnknown[sizeof process.device_uuid] = {};
    return memcmp(process.device_uuid, other.process.device_uuid, sizeof kUnknown) == 0 &&
           memcmp(process.device_uuid, kUnknown, sizeof kUnknown) != 0 &&
           model.schedule().gpu_operations > 0 && other.model.schedule().gpu_operations > 0;
  }

  int64_t end() const { return begin + model.schedule().end; }

  ProcessReplay model;
  const ProcessFile& process;
  int64_t begin = 0;
};

// Of one process.
struct Replay::Gain {
  const Part* part = nullptr;
  int64_t end = 0;  // without it
  Estimate estimate;
};

// Of processes that ran at the same time the one that ends last counts. They may wait for each other, as ranks do that
// meet in collectives. So the job gains at least what the process that gains least does, where each meeting
// waits for that one; and at most what all of them do, where each gains while the others wait for it.
Estimate Replay::side_by_side(std::span<const Gain> processes) {
  int64_t end = INT64_MIN, changed = INT64_MIN, least = INT64_MAX;
  Estimate sum;
  bool ranks = true, shared = false;
  for (const auto& [part, part_end, one] : processes) {
    end = std::max(end, part_end);
    changed = std::max(changed, part_end - one.benefit.count);
    least = std::min(least, one.low.count);
    sum.benefit += one.benefit;
    sum.high += one.high;
    if (sum.reason.empty()) sum.reason = one.reason;
    ranks &= part->process.rank >= 0;
    for (const Gain& other : processes) shared |= other.part != part && part->shares_gpu_with(*other.part);
  }
  Estimate together{Nanoseconds{end - changed}, {}, {}, sum.reason};
  together.low = std::min(Nanoseconds{least}, together.benefit);
  together.high = std::max(sum.high, together.benefit);
  if (sum.benefit.count - together.benefit.count > together.benefit.count / 20)
    together.reason = ranks
                          ? "ranks wait for each other: the low end is the gain of the rank that gains least"
                          : "processes wait for each other in ways that the tool cannot see";
  // Each was replayed with the GPU to itself. Where they take turns on it, a wait that is gone may come back as a
  // wait for the other's turn.
  if (shared) {
    together.low = std::min(together.low, Nanoseconds{});
    together.reason = "processes share one GPU, and the model does not know when each of them gets it";
  }
  return together;
}

Replay::Replay(const Run& tracing, const SiteTable& sites, const EventGraph& graph,
               const ReplayOptions& options)
    : of_(graph.threads.size(), {kNone, kNone}) {
  std::vector<std::vector<uint32_t>> graph_thread(tracing.processes.size());
  for (uint32_t p = 0; p < tracing.processes.size(); ++p)
    graph_thread[p].resize(tracing.processes[p].threads.size(), kNone);
  for (uint32_t t = 0; t < graph.origin.size(); ++t)
    graph_thread[graph.origin[t].first][graph.origin[t].second] = t;
  const Schedules schedules = options.schedules.empty()
                                  ? schedules_of(tracing, sites, SleepCosts(options.sleep_costs))
                                  : options.schedules;
  for (uint32_t p = 0; p < tracing.processes.size(); ++p) {
    const std::shared_ptr<const Schedule>& made = schedules[p];
    const Schedule& schedule = *made;
    KnownTimes known;
    known.calibrated = known.all = options.calibrated;
    const Process& process = tracing.processes[p];
    for (uint32_t t = 0; t < schedule.threads.size(); ++t) {
      const ThreadSchedule& thread = schedule.threads[t];
      if (graph_thread[p][thread.thread] != kNone) of_[graph_thread[p][thread.thread]] = {p, t};
      for (const Node& node : thread.nodes) {
        // A copy's that its own call waits for is told by the wait.
        if (node.gpu == kNone || node.unseen() || node.waits == Waits::own) continue;
        Nanoseconds time = process.threads[thread.thread].operations[node.operation].gpu;
        known.all &= time.count >= 0;
        if (time.count < 0) continue;
        if (known.of.empty()) known.of.resize(schedule.gpu_operations);
        known.of[node.gpu] = {0, time.count};
        if (process.threads[thread.thread].operations[node.operation].gpu_outlier)
          known.outliers.insert(node.gpu);
        known.any = true;
      }
    }
    known.all &= known.any;
    parts_.push_back(std::make_unique<Part>(made, known, options.machine, process.trace->process));
  }
}

Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;

// By process, sorted by position.
std::vector<std::vector<Edit>> Replay::edits_of(const std::vector<Change>& changes) const {
  std::vector<std::vector<Edit>> edits(parts_.size());
  if (parts_.size() == 1) edits[0].reserve(changes.size());  // megabytes that growing would copy
  uint32_t of_thread = kNone;                                // the thread of the last change, and its node
  std::vector<Node>::const_iterator node;
  for (const Change& change : changes) {
    const uint32_t p = of_[change.thread].first, t = of_[change.thread].second;
    if (p == kNone) continue;
    const ThreadSchedule& thread = parts_[p]->model.schedule().threads[t];
    if (of_thread != change.thread) node = thread.nodes.begin();
    of_thread = change.thread;
    node = node_of(thread.nodes, node, change.operation);
    if (node == thread.nodes.end()) continue;
    const auto take_work = [&](const Node* before, Nanoseconds time) {
      Edit work;
      work.thread = t;
      work.node = static_cast<uint32_t>(before - thread.nodes.data());
      work.before = time.count;
      edits[p].push_back(work);
    };
    if (node->operation != change.operation) {
      // A call that neither waits nor gives work is CPU work before the next node.
      if (change.call_removed) take_work(&*node, change.own + change.before + change.behind);
      continue;
    }
    // What comes behind the thread's last node holds nothing up.
    if (change.behind.count > 0 && node + 1 != thread.nodes.end()) take_work(&*node + 1, change.behind);
    Edit edit;
    edit.thread = t;
    edit.node = static_cast<uint32_t>(node - thread.nodes.begin());
    edit.call_removed = change.call_removed && !change.work_kept;
    if (change.call_removed) edit.own = change.remains.count;
    edit.before = change.before.count;
    // A synchronization that is gone waits for nothing, whether it waited when it was recorded or not.
    edit.wait_removed =
        change.wait_change == Change::Wait::removed || (edit.call_removed && node->work == Work::none);
    edit.own_stream = change.wait_change == Change::Wait::narrowed;
    edit.on_gpu = change.wait_change == Change::Wait::on_gpu;
    if (change.like < change.operation) {
      const auto like = node_of(thread.nodes, thread.nodes.begin(), change.like);
      if (like->operation == change.like && like->stream < parts_[p]->model.schedule().streams)
        edit.to_stream = like->stream;
    }
    if (change.wait_change == Change::Wait::moved) place_use(thread, node->end() + change.after.count, edit);
    edits[p].push_back(edit);
  }
  for (std::vector<Edit>& of_process : edits) {
    auto earlier = [](const Edit& a, const Edit& b) { return a.position() < b.position(); };
    if (!std::is_sorted(of_process.begin(), of_process.end(), earlier))
      std::sort(of_process.begin(), of_process.end(), earlier);
    unite(of_process);
  }
  return edits;
}

Replay::Made Replay::make(const std::vector<Change>& changes) const {
  Made made{edits_of(changes), {}};
  for (size_t p = 0; p < parts_.size(); ++p) made.ends.push_back(parts_[p]->model.ends(made.edits[p]));
  return made;
}

Estimate Replay::estimate(const std::vector<Change>& changes, const Made* before) const {
  const auto edits = edits_of(changes);
  std::vector<Gain> found;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const ProcessReplay& model = parts_[p]->model;
    Gain& gain = found.emplace_back(Gain{parts_[p].get(), parts_[p]->end(), {}});
    if (before) gain.end -= model.gained(before->ends[p]);
    if (edits[p].empty()) continue;
    gain.estimate = before ? model.estimate_beyond(before->ends[p], replaced(before->edits[p], edits[p]),
                                                   edits[p], unmatched_)
                           : model.estimate(edits[p], unmatched_);
  }
  return combined(std::move(found));
}

Replay::Shorter Replay::shorter_by(
    const std::function<Nanoseconds(uint32_t, uint32_t, uint32_t)>& less) const {
  Shorter all(parts_.size());
  for (uint32_t p = 0; p < parts_.size(); ++p) {
    const Schedule& schedule = parts_[p]->model.schedule();
    for (const ThreadSchedule& thread : schedule.threads)
      for (const Node& node : thread.nodes) {
        if (node.gpu == kNone || node.unseen()) continue;
        const Nanoseconds by = less(p, thread.thread, node.operation);
        if (by.count <= 0) continue;
        if (all[p].empty()) all[p].resize(schedule.gpu_operations, 0);
        all[p][node.gpu] = by.count;
      }
  }
  return all;
}

Estimate Replay::estimate_shorter(const Shorter& shorter, const Made* made) const {
  std::vector<Gain> found;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const ProcessReplay& model = parts_[p]->model;
    Gain& gain = found.emplace_back(Gain{parts_[p].get(), parts_[p]->end(), {}});
    if (made) gain.end -= model.gained(made->ends[p]);
    if (!shorter[p].empty())
      gain.estimate = model.estimate_shorter(made ? made->ends[p] : model.unchanged(),
                                             made ? made->edits[p] : std::vector<Edit>{}, shorter[p]);
  }
  return combined(std::move(found));
}

size_t Replay::nodes() const {
  size_t nodes = 0;
  for (const auto& part : parts_)
    for (const ThreadSchedule& thread : part->model.schedule().threads) nodes += thread.nodes.size();
  return nodes;
}

Estimate Replay::combined(std::vector<Gain> found) {
  // A process that gives the GPU nothing (mpirun, a shell) waits for those that do.
  const auto works = [](const Gain& one) { return one.part->model.schedule().gpu_operations > 0; };
  if (std::any_of(found.begin(), found.end(), works)) std::erase_if(found, std::not_fn(works));
  // Processes that follow each other add up.
  std::sort(found.begin(), found.end(),
            [](const Gain& a, const Gain& b) { return a.part->begin < b.part->begin; });
  Estimate total;
  for (size_t i = 0; i < found.size();) {
    size_t next = i;
    int64_t end = INT64_MIN;
    for (; next < found.size() && (next == i || found[next].part->begin < end); ++next)
      end = std::max(end, found[next].part->end());
    const Estimate one =
        next == i + 1 ? found[i].estimate : side_by_side(std::span(found).subspan(i, next - i));
    total.benefit += one.benefit;
    total.low += one.low;
    total.high += one.high;
    if (total.reason.empty()) total.reason = one.reason;
    i = next;
  }
  return total;
}

double Replay::mismatch() const {
  double largest = 0;
  for (const auto& part : parts_)
    if (part->model.schedule().end > 0)
      largest = std::max(largest, static_cast<double>(part->model.mismatch()) /
                                      static_cast<double>(part->model.schedule().end));
  return largest;
}

Nanoseconds Replay::missed() const {
  int64_t largest = 0;
  for (const auto& part : parts_) largest = std::max(largest, part->model.mismatch());
  return {largest};
}

}  // namespace diogenes
