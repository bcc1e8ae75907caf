// Matrix factorization by alternating least squares with the CUDA runtime: als/als.cpp as most people would
// write it. cudaFree in every iteration waits for the GPU, and the ratings, which never change, are copied in
// every iteration.
// --fixed: one temporary for the whole run, and the ratings are copied once.
#include <utility>

#include "../common/host.h"
#include "check.h"

namespace {

constexpr int kRatings = 256 * 1024;
constexpr size_t kRatingBytes = kRatings * sizeof(float);
constexpr int kFactors = 64 * 1024;
constexpr size_t kFactorBytes = kFactors * sizeof(float);
constexpr int kReportEvery = 25;

__global__ void start(float* factors) { factors[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }

// The right side of each factor's equation.
__global__ void gather(float* system, const float* ratings, const float* factors) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int r = 0; r < kRatings / kFactors; ++r) sum += ratings[i + r * kFactors] * factors[i];
  system[i] = sum;
}

// Solves it by relaxation.
__global__ void solve(float* next, const float* factors, const float* system, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = factors[i];
  for (int r = 0; r < rounds; ++r) x = fmaf(x, 0.5f, 0.125f * system[i]);
  next[i] = x;
}

struct Factorization {
  float* host_ratings = nullptr;  // pinned, constant
  float* report = nullptr;        // pinned
  float *ratings = nullptr, *factors = nullptr, *next_factors = nullptr;
  float* kept_system = nullptr;  // --fixed only
  double bias = 0.5;
};

void prepare(Factorization& f, bool fixed) {
  CHECK(cudaMallocHost(&f.host_ratings, kRatingBytes));
  CHECK(cudaMallocHost(&f.report, kFactorBytes));
  for (int i = 0; i < kRatings; ++i) f.host_ratings[i] = static_cast<float>(1 + i * 3 % 5) / 8;
  CHECK(cudaMalloc(&f.ratings, kRatingBytes));
  CHECK(cudaMalloc(&f.factors, kFactorBytes));
  CHECK(cudaMalloc(&f.next_factors, kFactorBytes));
  start<<<kFactors / 256, 256>>>(f.factors);
  CHECK(cudaGetLastError());
  if (fixed) {
    CHECK(cudaMalloc(&f.kept_system, kFactorBytes));
    CHECK(cudaMemcpyAsync(f.ratings, f.host_ratings, kRatingBytes, cudaMemcpyHostToDevice));
  }
}

void iterate(Factorization& f, bool fixed) {
  float* system = f.kept_system;
  if (!fixed) {
    CHECK(cudaMalloc(&system, kFactorBytes));
    // PLANTED: als-runtime-ratings
    CHECK(cudaMemcpy(f.ratings, f.host_ratings, kRatingBytes, cudaMemcpyHostToDevice));
  }
  gather<<<kFactors / 256, 256>>>(system, f.ratings, f.factors);
  CHECK(cudaGetLastError());
  solve<<<kFactors / 256, 256>>>(f.next_factors, f.factors, system, 200000);
  CHECK(cudaGetLastError());
  std::swap(f.factors, f.next_factors);
  f.bias += example::host_work(200, f.bias);
  if (!fixed) CHECK(cudaFree(system));  // PLANTED: als-runtime-free
  f.bias += example::host_work(800, f.bias);
}

// The CPU reads what it copies back, at once: this wait is needed.
void report(Factorization& f, int iteration) {
  CHECK(cudaMemcpy(f.report, f.factors, kFactorBytes, cudaMemcpyDeviceToHost));
  std::printf("iteration %d: mean factor %.6f, checksum %016llx\n", iteration,
              example::mean(f.report, kFactors),
              static_cast<unsigned long long>(example::checksum(f.report, kFactors)));
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Factorizes a matrix of ratings with the CUDA runtime.", 800);
  Factorization factorization;
  prepare(factorization, options.fixed);
  for (int i = 1; i <= options.iterations; ++i) {
    iterate(factorization, options.fixed);
    if (i % kReportEvery == 0 || i == options.iterations) report(factorization, i);
  }
  std::printf("als_runtime: %d iterations, bias %.9f\n", options.iterations, factorization.bias);
  return 0;
}
