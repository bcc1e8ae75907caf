// `mpirun -n 2 diogenes run -- ./app`: was this diogenes started once for each rank of a job? Then each would measure one
// process that waits for others, which are in other runs. In: the environment, the command. Sources: what Open MPI, MPICH,
// MVAPICH, Slurm and torchrun set for the processes they start, by their manuals.
#pragma once
#include <string>
#include <vector>

namespace diogenes::launcher {

// One line that says so, with the command that measures the job as one; "": no, or the job has one rank.
std::string started_for_each_rank(const std::vector<std::string>& environment,
                                  const std::vector<std::string>& command);

}  // namespace diogenes::launcher
