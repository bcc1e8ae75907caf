// Matrix factorization by alternating least squares, after cumf_als (SC'19, section 5.1).
//
// Every iteration updates the factors of the users, then those of the items. Both updates use a temporary on
// the GPU, and the ratings, which never change. Two mistakes, each made twice:
// - the temporary is allocated and freed in every update, and cuMemFree waits for the GPU;
// - the ratings are copied to the GPU in every update, to where they already are.
// --fixed: one temporary for the whole run, and the ratings are copied once.
#include <utility>

#include "../common/gpu.h"

namespace {

constexpr size_t kRatings = 256 * 1024;  // floats: 1 MiB
constexpr size_t kRatingBytes = kRatings * sizeof(float);
constexpr size_t kFactors = 16 * 1024;  // floats: 64 KiB
constexpr int kReportEvery = 25;

CUdeviceptr device_floats(size_t count) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, count * sizeof(float)));
  return memory;
}

// One side of the factorization: the users or the items.
struct Side {
  const float* ratings = nullptr;  // pinned, constant
  CUdeviceptr device_ratings = 0;
  CUdeviceptr factors = 0, next_factors = 0;
};

class Factorization {
 public:
  Factorization(example::Gpu& gpu, bool fixed)
      : gpu_(gpu), fixed_(fixed), report_(example::pinned_floats(kFactors)) {
    prepare(users_, 3);
    prepare(items_, 4);
    if (fixed_) {
      system_ = device_floats(kFactors);
      upload_once(users_);
      upload_once(items_);
    }
  }

  void update_users() {
    CUdeviceptr system = system_;
    if (!fixed_) {
      system = device_floats(kFactors);
      // PLANTED: als-user-ratings
      CHECK(cuMemcpyHtoD(users_.device_ratings, users_.ratings, kRatingBytes));
    }
    solve(users_, items_, system);
    bias_ += example::host_work(450, bias_);
    if (!fixed_) CHECK(cuMemFree(system));  // PLANTED: als-user-free
    bias_ += example::host_work(500, bias_);
  }

  void update_items() {
    CUdeviceptr system = system_;
    if (!fixed_) {
      system = device_floats(kFactors);
      // PLANTED: als-item-ratings
      CHECK(cuMemcpyHtoD(items_.device_ratings, items_.ratings, kRatingBytes));
    }
    solve(items_, users_, system);
    bias_ += example::host_work(450, bias_);
    if (!fixed_) CHECK(cuMemFree(system));  // PLANTED: als-item-free
    bias_ += example::host_work(500, bias_);
  }

  // The CPU reads what it copies back, at once: this wait is needed.
  void report(int iteration) {
    CHECK(cuMemcpyDtoH(report_, users_.factors, kFactors * sizeof(float)));
    std::printf("iteration %d: mean factor %.6f, checksum %016llx\n", iteration,
                example::mean(report_, kFactors),
                static_cast<unsigned long long>(example::checksum(report_, kFactors)));
  }

  double bias() const { return bias_; }

 private:
  void prepare(Side& side, int step) {
    float* ratings = example::pinned_floats(kRatings);
    for (size_t i = 0; i < kRatings; ++i) ratings[i] = static_cast<float>(1 + i * step % 5) / 4;
    side.ratings = ratings;
    side.device_ratings = device_floats(kRatings);
    side.factors = device_floats(kFactors);
    side.next_factors = device_floats(kFactors);
    gpu_.fill(side.factors, 0, kFactors, 0);
  }

  // From pinned memory, in the order of the stream: nothing waits.
  void upload_once(Side& side) {
    CHECK(cuMemcpyHtoDAsync(side.device_ratings, side.ratings, kRatingBytes, nullptr));
  }

  void solve(Side& side, const Side& other, CUdeviceptr system) {
    gpu_.add(system, side.device_ratings, other.factors, kFactors, 300);
    gpu_.add(side.next_factors, side.device_ratings + kFactors * sizeof(float), system, kFactors, 500);
    std::swap(side.factors, side.next_factors);
  }

  example::Gpu& gpu_;
  bool fixed_;
  float* report_;
  Side users_, items_;
  CUdeviceptr system_ = 0;  // --fixed only
  double bias_ = 0.5;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Factorizes a matrix of ratings by alternating least squares.", 400);
  example::Gpu gpu;
  Factorization factorization(gpu, options.fixed);
  for (int i = 1; i <= options.iterations; ++i) {
    factorization.update_users();
    factorization.update_items();
    if (i % kReportEvery == 0 || i == options.iterations) factorization.report(i);
  }
  std::printf("als: %d iterations, bias %.9f\n", options.iterations, factorization.bias());
  return 0;
}
