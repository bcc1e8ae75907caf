// Building graphs node by node, reading and changing them, and making them executable.
#include <algorithm>

#include "graphs.h"

namespace diogenes::sim {
namespace {

struct Found {
  std::shared_ptr<Graph> graph;
  size_t index = 0;
  GraphNode& node() const { return graph->nodes[index]; }
  explicit operator bool() const { return graph != nullptr; }
};

// Wants the device lock, as all below that take handles.
Found find_node(CUgraphNode handle) {
  for (const auto& [unused, graph] : all_graphs().graphs)
    for (size_t i = 0; i < graph->nodes.size(); ++i)
      if (reinterpret_cast<CUgraphNode>(&graph->nodes[i]) == handle) return {graph, i};
  return {};
}

std::shared_ptr<Graph> find_graph(CUgraph handle) {
  const auto found = all_graphs().graphs.find(handle);
  return found == all_graphs().graphs.end() ? nullptr : found->second;
}

CUresult add(CUgraphNode* result, CUgraph handle, const CUgraphNode* after, size_t count, Work work) {
  if (!result || (count > 0 && !after)) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  GraphNode node{std::move(work), {}, driver().next_id++};
  for (size_t i = 0; i < count; ++i) {
    const Found found = find_node(after[i]);
    if (found.graph != graph) return CUDA_ERROR_INVALID_VALUE;
    node.after.push_back(found.index);
  }
  graph->nodes.push_back(std::move(node));
  *result = reinterpret_cast<CUgraphNode>(&graph->nodes.back());
  return CUDA_SUCCESS;
}

CUresult depend(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  if (count > 0 && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < count; ++i) {
    const Found a = find_node(from[i]), b = find_node(to[i]);
    if (a.graph != graph || b.graph != graph) return CUDA_ERROR_INVALID_VALUE;
    b.node().after.push_back(a.index);
  }
  return CUDA_SUCCESS;
}

// Reads one thing of a node of that type.
template <typename T, typename Read>
CUresult get(CUgraphNode handle, CUgraphNodeType type, T* result, Read read) {
  DRIVER_CALL(nothing);
  if (!result) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Found found = find_node(handle);
  if (!found || !found.node().work.node || found.node().work.node->type != type)
    return CUDA_ERROR_INVALID_VALUE;
  *result = read(*found.node().work.node);
  return CUDA_SUCCESS;
}

// The node gets other work of the same type: in its graph, or in an executable one alone.
CUresult set(CUgraphNode handle, Work work, CUgraphExec executable = nullptr) {
  const Held held = hold_device();
  const Found found = find_node(handle);
  if (!found || found.node().work.node->type != work.node->type) return CUDA_ERROR_INVALID_VALUE;
  if (!executable) {
    found.node().work = std::move(work);
    return CUDA_SUCCESS;
  }
  const auto exec = all_graphs().executables.find(executable);
  if (exec == all_graphs().executables.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (GraphNode& node : exec->second->nodes)
    if (node.id == found.node().id) {
      node.work = std::move(work);
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}

// Child graphs opened. `ends`: for each node of the graph, the nodes that stand for its end.
void open_into(const Graph& graph, const std::vector<size_t>& before, Graph* result,
               std::vector<size_t>* all) {
  const size_t count = graph.nodes.size();
  std::vector<std::vector<size_t>> ends(count);
  std::vector<bool> done(count);
  for (size_t left = count; left > 0;) {
    const size_t was = left;
    for (size_t i = 0; i < count; ++i) {
      const GraphNode& node = graph.nodes[i];
      if (done[i] || std::any_of(node.after.begin(), node.after.end(), [&](size_t n) { return !done[n]; }))
        continue;
      std::vector<size_t> after = before;
      for (const size_t n : node.after) after.insert(after.end(), ends[n].begin(), ends[n].end());
      if (node.work.node && node.work.node->child) {
        open_into(*node.work.node->child, after, result, &ends[i]);
        if (ends[i].empty()) ends[i] = after;
      } else {
        result->nodes.push_back({node.work, std::move(after), node.id});
        ends[i] = {result->nodes.size() - 1};
      }
      all->insert(all->end(), ends[i].begin(), ends[i].end());
      done[i] = true;
      --left;
    }
    if (left == was) {  // a circle
      result->nodes.clear();
      all->assign(1, SIZE_MAX);
      return;
    }
  }
}

CUresult instantiate(CUgraphExec* exec, CUgraph handle) {
  DRIVER_CALL(a_context);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Graph> copy = executable_of(*graph);
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  *exec = reinterpret_cast<CUgraphExec>(copy.get());
  all_graphs().executables[*exec] = copy;
  return CUDA_SUCCESS;
}

CUresult update(CUgraphExec handle, CUgraph graph_handle) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  const auto exec = all_graphs().executables.find(handle);
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (!graph || exec == all_graphs().executables.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Graph> wanted = executable_of(*graph);
  std::deque<GraphNode>& nodes = exec->second->nodes;
  constexpr auto kFailure = static_cast<CUresult>(910);  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  if (!wanted || wanted->nodes.size() != nodes.size()) return kFailure;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (wanted->nodes[i].work.node->type != nodes[i].work.node->type ||
        wanted->nodes[i].after != nodes[i].after)
      return kFailure;
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].work = wanted->nodes[i].work;
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Graph> executable_of(const Graph& graph) {
  auto result = std::make_shared<Graph>();
  std::vector<size_t> all;
  open_into(graph, {}, result.get(), &all);
  return std::find(all.begin(), all.end(), SIZE_MAX) == all.end() ? result : nullptr;
}

Work host_work(const CUDA_HOST_NODE_PARAMS& host) {
  auto node = std::make_shared<NodeDescription>();
  node->type = CU_GRAPH_NODE_TYPE_HOST;
  node->host = host;
  Work work;
  work.kind = Kind::callback;
  work.function = [host](CUresult) { host.fn(host.userData); };
  work.node = std::move(node);
  return work;
}

}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  DRIVER_CALL(nothing);
  if (!graph || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<Graph>();
  const Held held = hold_device();
  *graph = reinterpret_cast<CUgraph>(made.get());
  all_graphs().graphs[*graph] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  DRIVER_CALL(nothing);
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  const size_t known = graph->nodes.size();
  for (size_t i = 0; nodes && i < *count; ++i)
    nodes[i] = i < known ? reinterpret_cast<CUgraphNode>(&graph->nodes[i]) : nullptr;
  *count = nodes ? std::min(*count, known) : known;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  DRIVER_CALL(nothing);
  if (!type) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Found found = find_node(handle);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *type = found.node().work.node->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  DRIVER_CALL(a_context);
  if (!kernel) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = kernel_work(*call.context, *kernel, &work)) return error;
  return add(node, graph, after, count, std::move(work));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext) {
  DRIVER_CALL(nothing);
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = copy_work(*copy, &work)) return error;
  return add(node, graph, after, count, std::move(work));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  DRIVER_CALL(nothing);
  if (!fill) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = fill_work(*fill, &work)) return error;
  return add(node, graph, after, count, std::move(work));
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* host) {
  DRIVER_CALL(nothing);
  if (!host || !host->fn) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, after, count, host_work(*host));
}
CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  DRIVER_CALL(nothing);
  Work work;
  work.node = std::make_shared<NodeDescription>();
  return add(node, graph, after, count, std::move(work));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                  CUgraph child) {
  DRIVER_CALL(nothing);
  auto described = std::make_shared<NodeDescription>();
  described->type = CU_GRAPH_NODE_TYPE_GRAPH;
  {
    const Held held = hold_device();
    const std::shared_ptr<Graph> original = find_graph(child);
    if (!original) return CUDA_ERROR_INVALID_HANDLE;
    described->child = std::make_shared<Graph>(*original);  // a graph of the node's own
    for (GraphNode& inner : described->child->nodes) inner.id = driver().next_id++;
    all_graphs().graphs[reinterpret_cast<CUgraph>(described->child.get())] = described->child;
  }
  Work work;
  work.node = std::move(described);
  return add(node, graph, after, count, std::move(work));
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  DRIVER_CALL(nothing);
  return depend(graph, from, to, count);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  DRIVER_CALL(nothing);
  return depend(graph, from, to, count);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  return get(node, CU_GRAPH_NODE_TYPE_KERNEL, kernel, [](const NodeDescription& d) { return d.kernel; });
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID, CUlaunchAttributeValue* value) {
  return get(node, CU_GRAPH_NODE_TYPE_KERNEL, value,
             [](const NodeDescription&) { return CUlaunchAttributeValue{}; });
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  return get(node, CU_GRAPH_NODE_TYPE_MEMCPY, copy, [](const NodeDescription& d) { return d.copy; });
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill) {
  return get(node, CU_GRAPH_NODE_TYPE_MEMSET, fill, [](const NodeDescription& d) { return d.fill; });
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* host) {
  return get(node, CU_GRAPH_NODE_TYPE_HOST, host, [](const NodeDescription& d) { return d.host; });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return get(node, CU_GRAPH_NODE_TYPE_GRAPH, graph,
             [](const NodeDescription& d) { return reinterpret_cast<CUgraph>(d.child.get()); });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  return cuGraphExecKernelNodeSetParams_v2(nullptr, node, kernel);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  DRIVER_CALL(a_context);
  if (!kernel) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = kernel_work(*call.context, *kernel, &work)) return error;
  return set(node, std::move(work), exec);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext) {
  DRIVER_CALL(nothing);
  if (!exec || !copy) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = copy_work(*copy, &work)) return error;
  return set(node, std::move(work), exec);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  DRIVER_CALL(nothing);
  if (!exec || !fill) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult error = fill_work(*fill, &work)) return error;
  return set(node, std::move(work), exec);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  DRIVER_CALL(nothing);
  if (!exec || !host || !host->fn) return CUDA_ERROR_INVALID_VALUE;
  return set(node, host_work(*host), exec);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  DRIVER_CALL(nothing);
  if (!host || !host->fn) return CUDA_ERROR_INVALID_VALUE;
  return set(node, host_work(*host));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  if (!how) return CUDA_ERROR_INVALID_VALUE;
  how->hErrNode_out = nullptr;
  how->result_out = 0;
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  return cuGraphInstantiateWithParams(exec, graph, how);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  const CUresult result = update(exec, graph);
  if (info) *info = {result == CUDA_SUCCESS ? 0 : 1, nullptr, nullptr};
  return result;
}
