// Finding the driver's internal wait function, per build of libcuda. Source: SC'19, 3.1;
// docs/driver-facts.md. A child process (libexec/diogenes-discover) starts a kernel that never completes, calls
// functions known to wait, and samples the waiting thread's stack; the internal function that their stacks
// share is the wait function. A second child hooks the candidates, and checks that the time inside is the
// time for which the kernel was held. A full launch queue waits in another function, which is found in the
// same way. In: the libcuda file. Out: image offsets, with the evidence; kept in a folder by build-id, so
// that the next run asks nothing of the GPU. The kernel is released after 0.3 s at the latest, whatever
// happens; a child ends after 20 s.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/build_id.h"
#include "base/result.h"

namespace diogenes {

struct WaitFunctions {
  struct Found {
    uint64_t offset = 0;    // image offset of its first byte
    int agreed = 0;         // calls on whose stacks it was
    int known = 0;          // calls that waited
    bool verified = false;  // hooked, and its time matched the hold
  };

  BuildId build_id;
  std::string driver_version;  // "580.159.04" where the file's name says it, else ""
  int version = 0;             // cuDriverGetVersion: 13000
  Found wait;
  std::optional<Found> queue;  // of a full launch queue; none: not found, the evidence says why
  std::string evidence_json;   // per call: waited or not, samples, stack; per candidate: the check
  bool from_cache = false;     // or from the table of known builds
};

// `discover_program`: path of diogenes-discover. `cache_folder` is made if need be; one that cannot be
// written is no error. Without `use_cache` everything is measured again (and stored). Error: one line that
// says what to do; the caller falls back to timing the known public functions.
Result<WaitFunctions> find_wait_functions(const std::filesystem::path& libcuda,
                                          const std::filesystem::path& discover_program,
                                          const std::filesystem::path& cache_folder, bool use_cache);

// The device that a program would get first, asked of the driver in a child process.
struct FirstDevice {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int count = 0;             // devices there are
};
Result<FirstDevice> first_device(const std::filesystem::path& libcuda,
                                 const std::filesystem::path& discover_program);

// The file that a program's dlopen("libcuda.so.1") would get in this environment (LD_LIBRARY_PATH counts),
// links resolved. Asked of the dynamic linker in a child process: nothing is loaded into this one.
Result<std::filesystem::path> locate_driver(const std::filesystem::path& discover_program);

}  // namespace diogenes
