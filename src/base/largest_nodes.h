// Keeps the largest nodes of a tree, and sums what is left out. In: nodes, a parent before its children, the first its own parent
// or without one; how large each is with all below it. Out: at most so many nodes, with one `rest` for what was left out under
// each; and where each node went, which is its rest if it was left out.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace diogenes {

// Node: `parent`, a position. is_rest(node): left out itself; make_rest(node): makes a new one that; add(rest, node).
template <typename Node, typename IsRest, typename MakeRest, typename Add>
std::vector<uint32_t> keep_largest_nodes(std::vector<Node>& nodes, const std::vector<double>& size,
                                         size_t most, IsRest&& is_rest, MakeRest&& make_rest, Add&& add) {
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t one, uint32_t other) { return size[one] > size[other]; });
  std::vector<bool> kept(nodes.size(), false);
  for (size_t i = 0; i < most / 2; ++i) kept[order[i]] = true;  // each may have a rest
  kept[0] = true;
  // A parent is as large as its children; sums of parts may differ in the last bit.
  for (size_t i = nodes.size(); i-- > 1;)
    if (kept[i]) kept[nodes[i].parent] = true;
  std::vector<uint32_t> place(nodes.size(), 0);
  std::vector<Node> out;
  std::map<uint32_t, uint32_t> rests;  // by the new place of the parent
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    const uint32_t parent = place[node.parent];
    if (kept[i]) {
      place[i] = static_cast<uint32_t>(out.size());
      node.parent = parent;
      out.push_back(std::move(node));
      continue;
    }
    uint32_t to = parent;  // in a rest already
    if (!is_rest(out[parent])) {
      const auto [found, fresh] = rests.try_emplace(parent, static_cast<uint32_t>(out.size()));
      if (fresh) {
        Node& made = out.emplace_back();
        made.parent = parent;
        make_rest(made);
      }
      to = found->second;
    }
    place[i] = to;
    add(out[to], node);
  }
  nodes = std::move(out);
  return place;
}

}  // namespace diogenes
