// The tree inside one kernel: functions, inlined frames, loops and lines, with samples. In: the kernel's samples by content of
// code. Out: nodes, a parent before its children. Nodes are the same where their texts and lines are: a kernel that several
// modules hold, compiled alike, has one tree. Functions that were not inlined lie below their callers (call_shares.h). No sample
// is lost: the own samples of all nodes are those of the kernel.
#pragma once
#include <string>
#include <vector>

#include "analysis/kernel_samples/sampled_code.h"
#include "analysis/report/report_kernel.h"

namespace diogenes {

struct KernelTree {
  struct Node {
    uint32_t parent = 0;
    ReportKernelNode::Kind kind = ReportKernelNode::Kind::kernel;
    std::string function, file;
    uint32_t line = 0, last_line = 0, called_line = 0;
    bool estimated = false;
    SampleCounts own = {}, all = {};
  };
  std::vector<Node> nodes;
  std::vector<std::string> notes;  // what was not shown, a sentence each
};

KernelTree make_kernel_tree(const std::string& kernel, const SampledKernel& sampled, uint32_t issued);

// Keeps at most so many nodes: those with the most samples; what is left out under a node is one `rest`.
void keep_largest(KernelTree& tree, size_t most);

}  // namespace diogenes
