// Files of /proc that the kernel keeps of each thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace diogenes::agent {

// /proc/self/task/THREAD/NAME into `text`, ended by a zero. Bytes read; 0 where it cannot be.
size_t read_task_file(uint32_t thread, const char* name, char* text, size_t room);

inline constexpr uint32_t kRunsText = 56;
// Its schedstat: time and number of its runs. False: the kernel does not count ("0 0 0").
bool read_runs(uint32_t thread, char (&text)[kRunsText]);

}  // namespace diogenes::agent
