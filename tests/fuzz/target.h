// A fuzz target: one reader, given any bytes. It ends, stays inside the bytes, and reports an error as a
// value. Each NAME_fuzz.cc defines run_on(); under clang it is linked with libFuzzer (ci/fuzz.sh), else with
// replay.cc, which runs it on the files of corpus/NAME, cut and damaged in fixed ways too. A file that once
// crashed a reader stays in the corpus.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes);

// What a target must not observe: the process is ended, with the sentence.
void require(bool condition, const char* sentence);

// A folder of this process for readers that open files by name. Made once, and removed at exit.
const std::filesystem::path& scratch_folder();
void write_file(const std::filesystem::path& file, std::span<const uint8_t> bytes);

}  // namespace diogenes::fuzz
