// The mapped libcuda of this process: found, checked against the plan, hooked, and described in the process
// file.
#pragma once

namespace diogenes::agent {

// Is libcuda.so.1 mapped and not yet hooked? Then hook it. Called at start and at every notification of the
// dynamic linker, before the program's first call into it can happen.
void hook_driver_if_mapped();

// The driver was called: from now on its locks do not come through this agent (driver_locks.h).
void leave_driver_its_locks();

// Device name and the like, once there is a context. Called after a public call, passing through the hooks.
void describe_device_once();

}  // namespace diogenes::agent
