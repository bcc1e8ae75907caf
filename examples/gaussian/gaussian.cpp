// Gaussian elimination, after the benchmark of Rodinia (SC'19, section 5.1).
//
// Each step launches two kernels and waits for each of them with cuCtxSynchronize, although both are in one
// stream and the CPU has no use for what they compute until the end.
// --fixed: no such waits. The copy of the result waits for everything that it needs.
#include <utility>

#include "../common/gpu.h"

namespace {

constexpr size_t kMatrix = 128 * 128;

class Elimination {
 public:
  Elimination(example::Gpu& gpu, bool fixed)
      : gpu_(gpu),
        fixed_(fixed),
        rows_(example::pinned_floats(kMatrix)),
        result_(example::pinned_floats(kMatrix)) {
    for (CUdeviceptr* matrix : {&matrix_, &next_matrix_, &multipliers_, &original_}) {
      CHECK(cuMemAlloc(matrix, kMatrix * sizeof(float)));
    }
    for (size_t i = 0; i < kMatrix; ++i) rows_[i] = static_cast<float>(i * 7 % 13) / 16;
    CHECK(cuMemcpyHtoDAsync(original_, rows_, kMatrix * sizeof(float), nullptr));
    gpu_.fill(matrix_, 0, kMatrix, 0);
  }

  void step() {
    fan1();
    pivot_ += example::host_work(500, pivot_);
    fan2();
    pivot_ += example::host_work(500, pivot_);
  }

  // Back substitution is the CPU's work: the copy's wait is needed.
  double solve() {
    CHECK(cuMemcpyDtoH(result_, matrix_, kMatrix * sizeof(float)));
    double x = 0;
    for (size_t row = kMatrix; row-- > 0;) x = (result_[row] - x) / 2;
    return x;
  }

  uint64_t checksum() const { return example::checksum(result_, kMatrix); }
  double pivot() const { return pivot_; }

 private:
  void fan1() {
    gpu_.copy(multipliers_, original_, kMatrix, 150);
    if (!fixed_) CHECK(cuCtxSynchronize());  // PLANTED: gaussian-fan1
  }

  void fan2() {
    gpu_.add(next_matrix_, matrix_, multipliers_, kMatrix, 250);
    std::swap(matrix_, next_matrix_);
    if (!fixed_) CHECK(cuCtxSynchronize());  // PLANTED: gaussian-fan2
  }

  example::Gpu& gpu_;
  bool fixed_;
  float *rows_, *result_;  // pinned
  CUdeviceptr matrix_ = 0, next_matrix_ = 0, multipliers_ = 0, original_ = 0;
  double pivot_ = 0.5;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Solves a linear system by Gaussian elimination.", 800);
  example::Gpu gpu;
  Elimination elimination(gpu, options.fixed);
  for (int i = 0; i < options.iterations; ++i) elimination.step();
  const double x = elimination.solve();
  std::printf("gaussian: %d steps, solution %.9f, pivot %.9f, checksum %016llx\n", options.iterations, x,
              elimination.pivot(), static_cast<unsigned long long>(elimination.checksum()));
  return 0;
}
