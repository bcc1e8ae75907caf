// Ranges of NVTX: when each thread enters and leaves those of the name that `diogenes run --region` gave, as records of its
// file (RangeRecord). In the tracing runs of such a session NVTX_INJECTION64_PATH names the agent, and each instance of NVTX in
// the process calls InitializeInjectionNvtx2 at its first call.
#pragma once

namespace diogenes::agent {

// In a forked child: what was pushed before is the parent's.
void forget_ranges();

}  // namespace diogenes::agent
