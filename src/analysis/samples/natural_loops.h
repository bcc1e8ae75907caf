// Natural loops of a flow graph. In: the successors of each node. Out: its loops. Source: Aho, Lam, Sethi, Ullman: Compilers,
// 9.6; dominators as Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm.
//
// A loop is what reaches an edge back to its head without passing the head, where the head dominates the edge's source: there is
// no way in but through the head. Edges that go back to one head are one loop. A cycle that can be entered in two places has
// no head, and is no loop.
#pragma once
#include <cstdint>
#include <vector>

namespace diogenes {

struct NaturalLoop {
  uint32_t head = 0;
  uint32_t depth = 1;           // 1: no loop around it
  std::vector<uint32_t> nodes;  // sorted, the head among them
};

// Node 0 is where the graph is entered. Nodes that it does not reach are a graph of their own, which is entered at each node
// without a predecessor. Two loops are apart or one lies in the other; inner ones come first. A graph that takes too long (none
// that a compiler makes) has none. Each successor is a node.
std::vector<NaturalLoop> natural_loops(const std::vector<std::vector<uint32_t>>& successors);

// Is there a cycle that is none of these loops, as it can be entered in two places, or as the graph took too long? `loops`: what
// natural_loops() returned. Cycles that nothing leads to do not count.
bool has_other_cycles(const std::vector<std::vector<uint32_t>>& successors,
                      const std::vector<NaturalLoop>& loops);

}  // namespace diogenes
