// What an example needs on the side of the CPU, whichever interface to the GPU it uses: options, and work for
// the CPU.
#pragma once
#include <cstddef>
#include <cstdint>

namespace example {

struct Options {
  bool fixed = false;  // run with the problems corrected by hand
  int iterations = 0;
};

// Understands --fixed, --iterations N and --help; anything else ends the program with status 2.
Options parse_options(int argc, char** argv, const char* purpose, int default_iterations);

// Nanoseconds of CLOCK_MONOTONIC.
int64_t now_ns();

// Keeps the CPU busy for `microseconds` on the clock, with real arithmetic and then with waiting for the
// rest: how fast the processor happens to be decides neither how long a run takes nor what a change gains.
// (One that is too slow for the arithmetic takes longer.) The result depends on the arguments only.
double host_work(int microseconds, double seed);

// A number that changes with every bit of the data.
uint64_t checksum(const float* data, size_t count);

double mean(const float* data, size_t count);

}  // namespace example
