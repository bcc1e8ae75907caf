// Files of /proc that the kernel keeps of each thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace diogenes::agent {

// /proc/self/task/THREAD/NAME into `text`, ended by a zero. Bytes read; 0 where it cannot be.
size_t read_task_file(uint32_t thread, const char* name, char* text, size_t room);

}  // namespace diogenes::agent
