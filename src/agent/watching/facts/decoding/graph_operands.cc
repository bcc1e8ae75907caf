#include "agent/watching/facts/decoding/graph_operands.h"

#include "agent/watching/facts/decoding/kernel_operands.h"
#include "agent/watching/facts/decoding/transfer_operands.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

void decode_graph_launch(const Call& call, DecodedCall& decoded) {
  bool kernels = false;
  {
    LockGuard guard(state().lock);
    GraphContent* content = state().graphs.find(call.argument(0));
    if (!content) {
      decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable | kHasKernel;
      return;
    }
    decoded.operands.flags |= content->flags;
    kernels = content->kernels;
    decoded.kernel_addresses = content->kernel_addresses;
  }
  if (kernels) add_kernel_operands(decoded);
  for (int i = 0;; ++i) {
    GraphCopy copy;
    {
      LockGuard guard(state().lock);
      GraphContent* content = state().graphs.find(call.argument(0));
      if (!content || i >= content->copy_count) return;
      copy = content->copies[i];
    }
    add_graph_transfer_operand(copy.destination, copy.to_host, true, decoded);
    if (!copy.source.empty()) add_graph_transfer_operand(copy.source, copy.from_host, false, decoded);
  }
}

}  // namespace diogenes::agent::facts
