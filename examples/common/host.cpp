#include "host.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace example {

static void print_usage(FILE* out, const char* program, const char* purpose, int default_iterations) {
  std::fprintf(out,
               "%s\n\n"
               "usage: %s [--fixed] [--iterations N]\n"
               "  --fixed         the same work with its problems corrected by hand\n"
               "  --iterations N  default %d\n",
               purpose, program, default_iterations);
}

Options parse_options(int argc, char** argv, const char* purpose, int default_iterations) {
  Options options;
  options.iterations = default_iterations;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--fixed") == 0) {
      options.fixed = true;
    } else if (std::strcmp(argv[i], "--help") == 0) {
      print_usage(stdout, argv[0], purpose, default_iterations);
      std::exit(0);
    } else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      options.iterations = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "%s: cannot use '%s'\n", argv[0], argv[i]);
      print_usage(stderr, argv[0], purpose, default_iterations);
      std::exit(2);
    }
  }
  return options;
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double host_work(int microseconds, double seed) {
  const int64_t end = now_ns() + int64_t{1000} * microseconds;
  double x = 0.25 + 0.5 * (seed - static_cast<double>(static_cast<int64_t>(seed)));
  if (x < 0) x = -x;
  for (int64_t step = 0; step < int64_t{150} * microseconds; ++step) x = 3.75 * x * (1.0 - x);
  while (now_ns() < end) {
  }
  return x;
}

uint64_t checksum(const float* data, size_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &data[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3;
  }
  return hash;
}

double mean(const float* data, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += data[i];
  return sum / static_cast<double>(count);
}

}  // namespace example
