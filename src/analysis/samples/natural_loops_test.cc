// Graphs as literals: node -> successors. The loops were worked out by hand.
#include "analysis/samples/natural_loops.h"

#include <gtest/gtest.h>

#include <random>

namespace diogenes {
namespace {

using Graph = std::vector<std::vector<uint32_t>>;
using Nodes = std::vector<uint32_t>;

TEST(NaturalLoops, NoneWithoutACycle) {
  EXPECT_TRUE(natural_loops({}).empty());
  EXPECT_TRUE(natural_loops({{1, 2}, {3}, {3}, {}}).empty());
}

TEST(NaturalLoops, OneNodeThatGoesBackToItself) {
  const auto loops = natural_loops({{1}, {1, 2}, {}});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].head, 1u);
  EXPECT_EQ(loops[0].nodes, (Nodes{1}));
  EXPECT_EQ(loops[0].depth, 1u);
}

TEST(NaturalLoops, TheEntryMayBeTheHead) {
  const auto loops = natural_loops({{1}, {0, 2}, {}});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].head, 0u);
  EXPECT_EQ(loops[0].nodes, (Nodes{0, 1}));
}

TEST(NaturalLoops, InnerOnesComeFirst) {
  // 1: outer head; 2: inner head, 3 goes back to it; 4 goes back to 1.
  const auto loops = natural_loops({{1}, {2, 5}, {3}, {2, 4}, {1}, {}});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].head, 2u);
  EXPECT_EQ(loops[0].nodes, (Nodes{2, 3}));
  EXPECT_EQ(loops[0].depth, 2u);
  EXPECT_EQ(loops[1].head, 1u);
  EXPECT_EQ(loops[1].nodes, (Nodes{1, 2, 3, 4}));
  EXPECT_EQ(loops[1].depth, 1u);
}

TEST(NaturalLoops, EdgesBackToOneHeadAreOneLoop) {
  const auto loops = natural_loops({{1}, {2, 3}, {1, 4}, {1}, {}});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].nodes, (Nodes{1, 2, 3}));
}

TEST(NaturalLoops, ACycleWithTwoWaysInIsNone) {
  EXPECT_TRUE(natural_loops({{1, 2}, {2}, {1, 3}, {}}).empty());
  // It does not hide the loop around it (1 to 4), nor the one within (3).
  const auto loops = natural_loops({{1}, {2, 3}, {3}, {3, 2, 4}, {1, 5}, {}});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].nodes, (Nodes{3}));
  EXPECT_EQ(loops[1].nodes, (Nodes{1, 2, 3, 4}));
}

bool has_others(const Graph& graph) { return has_other_cycles(graph, natural_loops(graph)); }

TEST(NaturalLoops, ACycleThatIsNoLoopIsTold) {
  EXPECT_TRUE(has_others({{1, 2}, {2}, {1, 3}, {}}));
  EXPECT_TRUE(has_others({{1}, {2, 3}, {3}, {3, 2, 4}, {1, 5}, {}}));
  EXPECT_FALSE(has_others({}));
  EXPECT_FALSE(has_others({{1, 2}, {3}, {3}, {}}));
  EXPECT_FALSE(has_others({{1}, {2, 5}, {3}, {2, 4}, {1}, {}}));
  EXPECT_FALSE(has_others({{1}, {2, 3}, {1, 4}, {1}, {}}));
  // The same edge twice.
  EXPECT_FALSE(has_others({{1, 1}, {1, 1, 2}, {}}));
  // Nothing leads to 1.
  EXPECT_FALSE(has_others({{}, {1}}));
}

TEST(NaturalLoops, WhatIsNotReachedIsAGraphOfItsOwn) {
  // 2 has no predecessor; 3 is a loop behind it, and leads into the first graph, where 1 is a loop.
  const auto loops = natural_loops({{1}, {1}, {3}, {3, 1}});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].head, 1u);
  EXPECT_EQ(loops[1].head, 3u);
  // Where it is entered is not known: 1 and 2 only reach each other.
  EXPECT_TRUE(natural_loops({{}, {2}, {1}}).empty());
  // It may be entered at 1 and at 2.
  EXPECT_TRUE(natural_loops({{}, {3}, {4}, {4}, {3}}).empty());
}

// What the definition says, node by node: a dominates b if b is not reached without a.
bool reached_without(const Graph& graph, uint32_t node, uint32_t without) {
  std::vector<bool> seen(graph.size());
  Nodes open{0};
  if (without == 0) return false;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == without || seen[at]) continue;
    seen[at] = true;
    open.insert(open.end(), graph[at].begin(), graph[at].end());
  }
  return seen[node];
}

bool leads_to(const Graph& graph, uint32_t from, uint32_t to) {
  std::vector<bool> seen(graph.size());
  Nodes open{from};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == to) return true;
    if (seen[at]) continue;
    seen[at] = true;
    open.insert(open.end(), graph[at].begin(), graph[at].end());
  }
  return false;
}

TEST(NaturalLoops, RandomGraphsHaveTheHeadsOfTheDefinition) {
  std::mt19937 random(1);
  size_t found = 0, others = 0;
  for (int round = 0; round < 2000; ++round) {
    Graph graph(2 + random() % 9);
    for (auto& successors : graph)
      for (uint32_t n = random() % 3; n > 0; --n)
        successors.push_back(static_cast<uint32_t>(random() % graph.size()));
    const auto size = static_cast<uint32_t>(graph.size());
    const auto is_reached = [&](uint32_t node) { return reached_without(graph, node, size); };
    Nodes heads, expected;
    for (const NaturalLoop& loop : natural_loops(graph))
      if (is_reached(loop.head)) heads.push_back(loop.head);
    for (uint32_t head = 0; head < size; ++head) {
      bool back = false;
      for (uint32_t from = 0; from < size; ++from)
        if (is_reached(from) && (from == head || !reached_without(graph, from, head)))
          back |= std::find(graph[from].begin(), graph[from].end(), head) != graph[from].end();
      if (back) expected.push_back(head);
    }
    std::sort(heads.begin(), heads.end());
    EXPECT_EQ(heads, expected) << "round " << round;
    // Edges that lead back to a node without which their source is not reached make no other cycle; any other cycle does.
    Graph forward = graph;
    for (uint32_t from = 0; from < size; ++from)
      std::erase_if(forward[from],
                    [&](uint32_t to) { return from == to || !reached_without(graph, from, to); });
    bool other = false;
    for (uint32_t node = 0; node < size; ++node)
      for (const uint32_t next : forward[node]) other |= is_reached(node) && leads_to(forward, next, node);
    for (uint32_t node = 0; node < size; ++node)
      if (!is_reached(node)) graph[node].clear();
    EXPECT_EQ(has_others(graph), other) << "round " << round;
    others += other ? 1 : 0;
    found += heads.size();
  }
  EXPECT_GT(found, 1000u);
  EXPECT_GT(others, 20u);
}

TEST(NaturalLoops, AGraphThatTakesTooLongHasNone) {
  // A ladder of heads, each of whose loops holds all that follow: 20,000 * 20,000 / 2 nodes would be kept.
  constexpr uint32_t kNodes = 40'000;
  Graph graph(kNodes);
  for (uint32_t node = 0; node + 1 < kNodes; ++node) graph[node].push_back(node + 1);
  for (uint32_t node = kNodes / 2; node < kNodes; ++node) graph[node].push_back(kNodes - 1 - node);
  EXPECT_TRUE(natural_loops(graph).empty());
  EXPECT_TRUE(has_others(graph));
}

}  // namespace
}  // namespace diogenes
