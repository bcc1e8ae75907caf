// cpu_loops: between its calls of the driver it is in two loops of its own, some 0.3 s each, which are the only code of their
// functions. Prints the lines of both.
#include <vector>

#include "cuda_user.h"

namespace {

constexpr int kSteps = 20;

// clang-format off
constexpr int kRelax = __LINE__ + 2;
__attribute__((noinline)) void relax(std::vector<double>& values, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 1; i + 1 < values.size(); ++i)
      values[i] = 0.25 * (values[i - 1] + 2 * values[i] + values[i + 1]);
}
constexpr int kRelaxEnd = __LINE__ - 1;

constexpr int kWalk = __LINE__ + 2;
__attribute__((noinline)) uint64_t walk(const std::vector<uint32_t>& next, uint32_t at, int steps) {
  uint64_t sum = 0;
  while (steps-- > 0) {
    at = next[at];
    sum += at;
  }
  return sum;
}
constexpr int kWalkEnd = __LINE__ - 1;
// clang-format on

}  // namespace

int main() {
  CudaUser user;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  std::vector<double> values(20'000, 1.5);
  std::vector<uint32_t> next(4096);
  for (uint32_t i = 0; i < next.size(); ++i) next[i] = (i * 1297 + 13) % 4096;
  uint64_t sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    user.fill(memory, 32, 2'000);
    CHECK(cuCtxSynchronize());
    relax(values, 250);
    sum += walk(next, static_cast<uint32_t>(step), 6'000'000);
  }
  say("relax %d %d\nwalk %d %d\n%llu %.3f\n", kRelax, kRelaxEnd, kWalk, kWalkEnd,
      static_cast<unsigned long long>(sum), values[7]);
  return 0;
}
