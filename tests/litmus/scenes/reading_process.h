// Another process of the same job that reads this one's memory when it is asked to. It is forked before the
// first CUDA call.
#pragma once
#include <cstddef>
#include <cstdint>

namespace scenes {

enum class ReadBy : int { readv, mem, shared_mapping };

void start_reader();
// Its sum of the words. Of a shared mapping it reads everyones_memory() and heeds no address.
uint64_t ask_reader(ReadBy by, const uint32_t* words, size_t count);
// Mapped MAP_SHARED before the reader was forked: kBytes.
uint32_t* everyones_memory();

// The same by this process itself.
uint64_t read_process(ReadBy by, int process, const uint32_t* words, size_t count);

}  // namespace scenes
