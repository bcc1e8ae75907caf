#include "analysis/samples/natural_loops.h"

#include <algorithm>
#include <utility>

namespace diogenes {
namespace {

constexpr uint32_t kNoNumber = UINT32_MAX;
constexpr int64_t kMostLoopSteps = 100'000'000;  // a third of a second
constexpr int64_t kStepsPerNode = 16;            // that is kept

class LoopSearch {
 public:
  explicit LoopSearch(const std::vector<std::vector<uint32_t>>& successors)
      : successors_(successors),
        predecessors_(successors.size()),
        number_(successors.size()),
        is_root_(successors.size()),
        head_of_(successors.size(), kNoNumber) {
    for (uint32_t node = 0; node < successors.size(); ++node)
      for (const uint32_t next : successors[node]) predecessors_[next].push_back(node);
  }

  std::vector<NaturalLoop> find() {
    if (successors_.empty()) return {};
    find_from({0});
    std::vector<uint32_t> roots;
    for (uint32_t node = 0; node < successors_.size(); ++node)
      if (number_[node] == 0 && predecessors_[node].empty()) roots.push_back(node);
    find_from(roots);
    if (steps_left_ <= 0) return {};
    std::sort(loops_.begin(), loops_.end(), [](const NaturalLoop& one, const NaturalLoop& other) {
      return std::pair(one.nodes.size(), one.head) < std::pair(other.nodes.size(), other.head);
    });
    std::vector<uint32_t> around(successors_.size());  // how many loops hold the node
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      for (const uint32_t node : loop->nodes) ++around[node];
      loop->depth = around[loop->head];
    }
    return std::move(loops_);
  }

 private:
  // Numbers are those of this search: node `order[n]` has n, in reverse postorder. 0 is in front of all roots.
  void find_from(const std::vector<uint32_t>& roots) {
    const std::vector<uint32_t> order = numbered(roots);
    const std::vector<uint32_t> dominators = dominators_of(order);
    for (uint32_t number = 1; number < order.size() && steps_left_ > 0; ++number) {
      std::vector<uint32_t> sources;  // of edges back to it
      for (const uint32_t before : predecessors_[order[number]])
        if (number_[before] != 0 && dominates(dominators, number, number_[before])) sources.push_back(before);
      if (!sources.empty()) add_loop(order[number], std::move(sources));
    }
  }

  std::vector<uint32_t> numbered(const std::vector<uint32_t>& roots) {
    std::vector<uint32_t> order;
    std::vector<std::pair<uint32_t, size_t>> path;  // node, how many of its successors were looked at
    const auto enter = [&](uint32_t node) {
      if (number_[node] != 0) return;
      number_[node] = kNoNumber;
      path.push_back({node, 0});
    };
    for (const uint32_t root : roots) {
      is_root_[root] = true;
      enter(root);
      while (!path.empty()) {
        const uint32_t node = path.back().first;
        const size_t next = path.back().second++;
        if (next < successors_[node].size()) {
          enter(successors_[node][next]);
        } else {
          order.push_back(node);
          path.pop_back();
        }
      }
    }
    order.push_back(0);
    std::reverse(order.begin(), order.end());
    for (uint32_t number = 1; number < order.size(); ++number) number_[order[number]] = number;
    return order;
  }

  // The nearest dominator of each, by number. All are reached, so each has one when the search ends.
  std::vector<uint32_t> dominators_of(const std::vector<uint32_t>& order) {
    std::vector<uint32_t> nearest(order.size(), kNoNumber);
    nearest[0] = 0;
    for (bool changed = true; changed && steps_left_ > 0;) {
      changed = false;
      for (uint32_t number = 1; number < order.size(); ++number) {
        uint32_t found = is_root_[order[number]] ? 0 : kNoNumber;
        for (const uint32_t node : predecessors_[order[number]]) {
          const uint32_t before = number_[node];
          --steps_left_;
          if (before == 0 || nearest[before] == kNoNumber) continue;
          found = found == kNoNumber ? before : common(nearest, found, before);
        }
        changed |= found != nearest[number];
        nearest[number] = found;
      }
    }
    return nearest;
  }

  uint32_t common(const std::vector<uint32_t>& nearest, uint32_t one, uint32_t other) {
    for (; one != other && steps_left_ > 0; --steps_left_) {
      uint32_t& later = one > other ? one : other;
      later = nearest[later];
    }
    return std::min(one, other);
  }

  bool dominates(const std::vector<uint32_t>& nearest, uint32_t head, uint32_t number) {
    for (; number > head && steps_left_ > 0; --steps_left_) number = nearest[number];
    return number == head;
  }

  void add_loop(uint32_t head, std::vector<uint32_t> open) {
    NaturalLoop loop{head, 1, {head}};
    head_of_[head] = head;
    while (!open.empty() && steps_left_ > 0) {
      const uint32_t node = open.back();
      open.pop_back();
      steps_left_ -= 1 + static_cast<int64_t>(predecessors_[node].size());
      if (std::exchange(head_of_[node], head) == head) continue;
      steps_left_ -= kStepsPerNode;
      loop.nodes.push_back(node);
      for (const uint32_t before : predecessors_[node])
        if (number_[before] != 0) open.push_back(before);
    }
    std::sort(loop.nodes.begin(), loop.nodes.end());
    loops_.push_back(std::move(loop));
  }

  const std::vector<std::vector<uint32_t>>& successors_;
  std::vector<std::vector<uint32_t>> predecessors_;
  std::vector<uint32_t> number_;  // 0: not reached yet
  std::vector<bool> is_root_;
  std::vector<uint32_t> head_of_;  // of the loop that the node was added to last
  std::vector<NaturalLoop> loops_;
  int64_t steps_left_ = kMostLoopSteps;
};

}  // namespace

std::vector<NaturalLoop> natural_loops(const std::vector<std::vector<uint32_t>>& successors) {
  return LoopSearch(successors).find();
}

// Without the edges back to heads, all nodes can be put in an order in which edges lead forward, or there is another cycle.
bool has_other_cycles(const std::vector<std::vector<uint32_t>>& successors,
                      const std::vector<NaturalLoop>& loops) {
  const auto count = static_cast<uint32_t>(successors.size());
  std::vector<std::vector<uint32_t>> predecessors(count);
  for (uint32_t node = 0; node < count; ++node)
    for (const uint32_t next : successors[node]) predecessors[next].push_back(node);
  std::vector<std::pair<uint32_t, uint32_t>> back;
  for (const NaturalLoop& loop : loops)
    for (const uint32_t node : predecessors[loop.head])
      if (std::binary_search(loop.nodes.begin(), loop.nodes.end(), node)) back.push_back({node, loop.head});
  std::sort(back.begin(), back.end());
  const auto is_back = [&](uint32_t from, uint32_t to) {
    return std::binary_search(back.begin(), back.end(), std::pair(from, to));
  };

  std::vector<bool> reached(count);
  std::vector<uint32_t> open;
  size_t left = 0;
  const auto reach = [&](uint32_t node) {
    if (reached[node]) return;
    reached[node] = true;
    ++left;
    open.push_back(node);
  };
  std::vector<uint32_t> forward_edges(count);  // to each node
  for (uint32_t root = 0; root < count; ++root)
    if (root == 0 || predecessors[root].empty()) reach(root);
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (const uint32_t next : successors[node]) {
      if (!is_back(node, next)) ++forward_edges[next];
      reach(next);
    }
  }
  for (uint32_t node = 0; node < count; ++node)
    if (reached[node] && forward_edges[node] == 0) open.push_back(node);
  for (; !open.empty(); --left) {
    const uint32_t node = open.back();
    open.pop_back();
    for (const uint32_t next : successors[node])
      if (!is_back(node, next) && --forward_edges[next] == 0) open.push_back(next);
  }
  return left > 0;
}

}  // namespace diogenes
