// Copies from process to process (process_vm_readv and the like), as MPI makes them of large messages on one
// machine: another process reads the sender's memory. On a guarded page that fails (measured with Open
// MPI 4.1: 'Read -1, expected 4194304, errno = 14'), and no guard sees it. So in runs with guards the
// launcher turns them off, which leaves copies through shared memory, by the processor, and the agent raises
// no guard in a job of several processes where they are not known to be off. The settings are Open MPI's, up
// to version 4; for others, whose jobs get no guards, nothing is changed.
#pragma once

namespace diogenes {

struct PeerCopySetting {
  const char *name, *value;
};
inline constexpr PeerCopySetting kNoPeerCopies[] = {
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
    {"UCX_TLS", "^cma,knem,xpmem"},  // where it goes through UCX; not tried
};

}  // namespace diogenes
