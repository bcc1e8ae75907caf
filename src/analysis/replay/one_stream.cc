#include "analysis/replay/one_stream.h"

#include <algorithm>

namespace diogenes::replay {
namespace {

constexpr int64_t kLongAgo = INT64_MIN / 2;

class OneStream {
 public:
  OneStream(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
            const Setting& setting, std::span<const Edit> edits)
      : in_(schedule),
        plan_(schedule.threads[0]),
        durations_(durations),
        machine_(machine),
        setting_(setting),
        edits_(edits),
        recorded_(schedule.events, 0) {
    for (uint32_t i = 0; i < edits.size(); ++i)
      if (edits[i].use_node != kNone) moved_.push_back({edits[i].use_node, edits[i].use_offset, i, 0, false});
    auto earlier = [](const Moved& a, const Moved& b) {
      return std::pair(a.node, a.offset) < std::pair(b.node, b.offset);
    };
    if (!std::is_sorted(moved_.begin(), moved_.end(), earlier))
      std::stable_sort(moved_.begin(), moved_.end(), earlier);
    slot_.assign(edits.size(), kNone);
    for (uint32_t i = 0; i < moved_.size(); ++i) slot_[moved_[i].edit] = i;
  }

  Outcome run(std::vector<Checkpoint>* fill, const std::vector<Checkpoint>* use) {
    now_ = plan_.start;
    for (uint32_t node = 0; node < plan_.nodes.size(); ++node) {
      work_before(node);
      visit(plan_.nodes[node], node);
      bool idle = armed_ == 0 && last_end_ <= now_;
      if (idle && fill && (fill->empty() || node >= fill->back().node + kCheckpointsApart))
        fill->push_back({node, now_});
      if (idle && use) node = skip(node, *use);
    }
    work_before(static_cast<uint32_t>(plan_.nodes.size()));
    return {std::max(now_, last_end_), {now_}};
  }

 private:
  static constexpr ptrdiff_t kForgotten = 4096;  // ends that lie in the past are let go by so many

  struct Moved {
    uint32_t node;
    int64_t offset;
    uint32_t edit;
    uint64_t target;
    bool armed;
  };

  // The CPU work before `node`, with the moved waits in it.
  void work_before(uint32_t node) {
    int64_t from = node == 0 ? plan_.start : plan_.nodes[node - 1].end();
    bool last = node == plan_.nodes.size();
    int64_t to = last ? plan_.exit : plan_.nodes[node].begin;
    int64_t recording = last ? plan_.recording_behind : plan_.nodes[node].recording;
    if (!setting_.recording_out) recording = 0;
    int64_t removed =
        next_edit_ < edits_.size() && edits_[next_edit_].node == node ? edits_[next_edit_].before : 0;
    int64_t work = std::max<int64_t>(to - from - recording - removed, 0), gone = 0;
    for (; next_moved_ < moved_.size() && moved_[next_moved_].node <= node; ++next_moved_) {
      Moved& wait = moved_[next_moved_];
      int64_t offset = std::clamp(wait.offset, gone, std::max(work, gone));
      now_ += offset - gone;
      gone = offset;
      if (!wait.armed) continue;
      --armed_;
      wait_for(setting_.moved_as_event ? wait.target : submitted_, true);
    }
    now_ += std::max<int64_t>(work - gone, 0);
  }

  void visit(const Node& node, uint32_t position) {
    const Edit* change = nullptr;
    uint32_t which = kNone;
    if (next_edit_ < edits_.size() && edits_[next_edit_].node == position) {
      which = static_cast<uint32_t>(next_edit_++);
      change = &edits_[which];
    }
    bool call_removed = change && change->call_removed;
    int64_t own = change && change->own >= 0 ? change->own : call_removed ? 0 : node.own;
    if (call_removed) now_ += own;
    if (node.work != Work::none && !call_removed) {
      if (node.gpu != kNone && submitted_ >= machine_.queue_depth)
        wait_for(submitted_ - machine_.queue_depth + 1, false);
      int64_t before = std::min(handover(machine_, node).before, own);
      now_ += before;
      submit(node);
      now_ += own - before;
    }
    if (node.waits != Waits::no) wait(node, change, which);
    if (node.work == Work::none && !call_removed) now_ += node.own;
  }

  void wait(const Node& node, const Edit* change, uint32_t which) {
    if (node.unseen()) submit(node);
    uint64_t target = node.waits == Waits::event && !node.unseen() ? recorded_[node.event] : submitted_;
    if (change && change->use_node != kNone) {
      Moved& moved = moved_[slot_[which]];
      moved.target = target;
      moved.armed = true;
      ++armed_;
      return;
    }
    if (change && change->wait_removed) return;
    // A wait that finds nothing to wait for costs what it cost.
    if (end_of(target) <= now_)
      now_ += in_.idle_time(node);
    else
      wait_for(target, true);
  }

  void submit(const Node& node) {
    ++submitted_;
    if (node.work == Work::record && node.event != kNone) recorded_[node.event] = submitted_;
    bool marker = node.work == Work::record || node.work == Work::wait_event;
    if (marker) {
      last_end_ = std::max(last_end_, now_);
    } else {
      Work work = node.unseen() ? Work::kernel : node.work;
      int64_t free = last_work_end_ + machine_.gap_between(last_work_, work);
      int64_t begin =
          std::max({now_ + start_latency(machine_, in_, node, durations_[node.gpu]), free, last_end_});
      last_end_ = last_work_end_ = begin + durations_[node.gpu];
      last_work_ = work;
    }
    ends_.push_back(last_end_);
    if (ends_.size() >= 2 * kForgotten && ends_[kForgotten - 1] <= now_) {
      ends_.erase(ends_.begin(), ends_.begin() + kForgotten);
      first_ += kForgotten;
    }
  }

  // When operation `number` ends.
  int64_t end_of(uint64_t number) const { return number < first_ ? kLongAgo : ends_[number - first_]; }

  void wait_for(uint64_t number, bool wakes) {
    int64_t end = end_of(number);
    if (end <= now_) return;
    now_ = end + (wakes ? machine_.wake_up : 0);
  }

  // Idle here as in the unchanged run: what follows is the same up to the last idle point before the next
  // edit.
  uint32_t skip(uint32_t node, const std::vector<Checkpoint>& points) {
    auto by_node = [](const Checkpoint& point, uint32_t value) { return point.node < value; };
    while (next_point_ < points.size() && points[next_point_].node < node) ++next_point_;
    if (next_point_ == points.size() || points[next_point_].node != node) return node;
    size_t target = points.size() - 1;
    if (next_edit_ < edits_.size()) {
      auto from = points.begin() + static_cast<ptrdiff_t>(next_point_);
      auto behind = std::lower_bound(from, points.end(), edits_[next_edit_].node, by_node);
      if (behind == from) return node;
      target = static_cast<size_t>(behind - points.begin()) - 1;
    }
    if (target <= next_point_) return node;
    now_ += points[target].time - points[next_point_].time;
    next_point_ = target;
    // All that was submitted in between has ended; an event's recording in it counts as never waited for.
    return points[target].node;
  }

  const Schedule& in_;
  const ThreadSchedule& plan_;
  const std::vector<int64_t>& durations_;
  const Machine machine_;
  const Setting setting_;
  const std::span<const Edit> edits_;
  size_t next_edit_ = 0, next_moved_ = 0, next_point_ = 0, armed_ = 0;
  std::vector<Moved> moved_;
  std::vector<uint32_t> slot_;      // by edit: position in moved_
  std::vector<uint64_t> recorded_;  // by event: operations submitted before it, itself included
  std::vector<int64_t> ends_;       // of the operations from number `first_` on
  uint64_t first_ = 1, submitted_ = 0;
  int64_t now_ = 0, last_end_ = kLongAgo, last_work_end_ = kLongAgo;
  Work last_work_ = Work::none;
};

}  // namespace

bool in_one_stream(const Schedule& schedule) { return schedule.threads.size() == 1 && schedule.streams <= 1; }

Outcome simulate_one_stream(const Schedule& schedule, const std::vector<int64_t>& durations,
                            const Machine& machine, const Setting& setting, std::span<const Edit> edits,
                            std::vector<Checkpoint>* fill, const std::vector<Checkpoint>* use) {
  return OneStream(schedule, durations, machine, setting, edits).run(fill, use);
}

Outcome simulate(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
                 const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill,
                 const std::vector<Checkpoint>* use) {
  if (in_one_stream(schedule))
    return simulate_one_stream(schedule, durations, machine, setting, edits, fill, use);
  return simulate_events(schedule, durations, machine, setting, edits, fill, use);
}

}  // namespace diogenes::replay
