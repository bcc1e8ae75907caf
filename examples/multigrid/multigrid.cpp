// A multigrid solver, after AMG (SC'19, section 5.1).
//
// The coarse grid is in managed memory, because the CPU looks at it now and then. It is cleared in every
// cycle with cuMemsetD8, which on managed memory, and only there, waits for the GPU.
// --fixed: a kernel clears it, in the order of the stream. (AMG used memset, as its data was on the CPU at
// that time.)

#include "../common/gpu.h"

namespace {

constexpr size_t kFine = 64 * 1024;
constexpr size_t kCoarse = 16 * 1024;
constexpr int kReportEvery = 25;

class Multigrid {
 public:
  Multigrid(example::Gpu& gpu, bool fixed) : gpu_(gpu), fixed_(fixed) {
    CHECK(cuStreamCreate(&stream_, CU_STREAM_DEFAULT));
    CHECK(cuMemAlloc(&fine_, kFine * sizeof(float)));
    CHECK(cuMemAlloc(&smooth_, kFine * sizeof(float)));
    CHECK(cuMemAlloc(&right_side_, kFine * sizeof(float)));
    CHECK(cuMemAllocManaged(&coarse_, kCoarse * sizeof(float), CU_MEM_ATTACH_GLOBAL));
    gpu_.fill(fine_, 0, kFine, 0, stream_);
    gpu_.fill(right_side_, 0x3e000000, kFine, 0, stream_);  // 0.125
  }

  void cycle() {
    gpu_.add(smooth_, fine_, right_side_, kFine, 600, stream_);
    weights_ += example::host_work(400, weights_);  // choose the coarse points
    clear_coarse();
    weights_ += example::host_work(500, weights_);  // interpolation weights
    gpu_.add(coarse_, coarse_, smooth_, kCoarse, 250, stream_);
    gpu_.copy(fine_, smooth_, kFine, 150, stream_);
    weights_ += example::host_work(300, weights_);
  }

  // The CPU reads the coarse grid right behind this wait: it is needed.
  void report(int cycle) {
    CHECK(cuStreamSynchronize(stream_));
    const float* coarse = reinterpret_cast<const float*>(coarse_);
    std::printf("cycle %d: mean correction %.6f, checksum %016llx\n", cycle, example::mean(coarse, kCoarse),
                static_cast<unsigned long long>(example::checksum(coarse, kCoarse)));
  }

  double weights() const { return weights_; }

 private:
  void clear_coarse() {
    if (fixed_) {
      gpu_.fill(coarse_, 0, kCoarse, 0, stream_);
    } else {
      CHECK(cuMemsetD8(coarse_, 0, kCoarse * sizeof(float)));  // PLANTED: multigrid-memset
    }
  }

  example::Gpu& gpu_;
  bool fixed_;
  CUstream stream_ = nullptr;
  CUdeviceptr fine_ = 0, smooth_ = 0, right_side_ = 0;
  CUdeviceptr coarse_ = 0;  // managed
  double weights_ = 0.5;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Solves a linear system by multigrid cycles.", 800);
  example::Gpu gpu;
  Multigrid multigrid(gpu, options.fixed);
  for (int i = 1; i <= options.iterations; ++i) {
    multigrid.cycle();
    if (i % kReportEvery == 0 || i == options.iterations) multigrid.report(i);
  }
  std::printf("multigrid: %d cycles, weights %.9f\n", options.iterations, multigrid.weights());
  return 0;
}
