// Conjugate gradients for a 1D Poisson equation, on Thrust. As such programs are written at first: temporaries are made
// in every iteration, and each Thrust call that returns a value, or releases memory, waits for the GPU:
// - two vectors are made and released in each iteration: cudaMalloc and cudaFree, of which the second waits needlessly;
// - the coefficients are sent again in each iteration, unchanged.
// --fixed: the vectors live outside the loop, and the coefficients are sent once. The two inner products stay: the CPU
// decides by their values when to stop.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

constexpr int kUnknowns = 1 << 20;
constexpr int kIterations = 400;

using Vector = thrust::device_vector<double>;

// One row of the matrix times a vector.
struct Row {
  const double* x;
  const double* diagonal;
  __host__ __device__ double operator()(int i) const {
    const double left = i > 0 ? x[i - 1] : 0, right = i + 1 < kUnknowns ? x[i + 1] : 0;
    return diagonal[i] * x[i] - left - right;
  }
};

struct Axpy {
  double a;
  __host__ __device__ double operator()(double x, double y) const { return a * x + y; }
};

void multiply(const Vector& diagonal, const Vector& x, Vector& result) {
  const Row row{thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(diagonal.data())};
  thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(kUnknowns), result.begin(), row);
}

double dot(const Vector& x, const Vector& y) { return thrust::inner_product(x.begin(), x.end(), y.begin(), 0.0); }

struct Solver {
  thrust::host_vector<double> coefficients;
  Vector diagonal, x, residual, direction, product;
  double norm = 0;

  Solver()
      : coefficients(kUnknowns),
        diagonal(kUnknowns),
        x(kUnknowns, 0.0),
        residual(kUnknowns, 1.0),
        direction(kUnknowns, 1.0),
        product(kUnknowns) {
    for (int i = 0; i < kUnknowns; ++i) coefficients[i] = 2.5 + (i % 7) * 0.01;
    diagonal = coefficients;
    norm = dot(residual, residual);
  }

  void iterate(bool fixed) {
    if (fixed) {
      multiply(diagonal, direction, product);
      return step(product);
    }
    diagonal = coefficients;          // sends what is there
    Vector fresh_product(kUnknowns);  // allocates, and waits when it is released
    multiply(diagonal, direction, fresh_product);
    step(fresh_product);
  }

 private:
  void step(const Vector& image) {
    const double alpha = norm / dot(direction, image);
    thrust::transform(direction.begin(), direction.end(), x.begin(), x.begin(), Axpy{alpha});
    thrust::transform(image.begin(), image.end(), residual.begin(), residual.begin(), Axpy{-alpha});
    const double now = dot(residual, residual);
    thrust::transform(direction.begin(), direction.end(), residual.begin(), direction.begin(), Axpy{now / norm});
    norm = now;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
  Solver solver;
  int iterations = 0;
  for (; iterations < kIterations && solver.norm > 1e-280; ++iterations) solver.iterate(fixed);
  thrust::host_vector<double> solution = solver.x;
  double sum = 0;
  for (double value : solution) sum += value;
  printf("cg: %d iterations, residual %.6e, sum %.9f\n", iterations, std::sqrt(solver.norm), sum);
  return 0;
}
