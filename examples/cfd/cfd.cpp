// A flow solver on a grid, after cuIBM (SC'19, section 5.1).
//
// Its functions keep their intermediate results in temporary vectors on the GPU, which a class template
// allocates and frees. That is convenient and looks free of cost; but every destructor calls cuMemFree, which
// waits for the GPU. One line of source, as many instructions as there are element types and places: the
// report folds them into one.
// --fixed: the class takes its memory from a pool that keeps what is given back.
#include <map>
#include <utility>
#include <vector>

#include "../common/gpu.h"

namespace {

constexpr size_t kCells = 16 * 1024;
constexpr int kReportEvery = 25;

// Keeps freed device memory for the next vector of the same size. All work is in one stream, so that the next
// user of a piece of memory comes after the last one without anybody waiting.
class Pool {
 public:
  CUdeviceptr take(size_t bytes) {
    std::vector<CUdeviceptr>& free = free_[bytes];
    CUdeviceptr memory = 0;
    if (free.empty()) {
      CHECK(cuMemAlloc(&memory, bytes));
    } else {
      memory = free.back();
      free.pop_back();
    }
    return memory;
  }
  void give_back(CUdeviceptr memory, size_t bytes) { free_[bytes].push_back(memory); }

 private:
  std::map<size_t, std::vector<CUdeviceptr>> free_;
};

Pool* pool = nullptr;  // --fixed only

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t count) : bytes_(count * sizeof(T)) {
    if (pool != nullptr) {
      data_ = pool->take(bytes_);
    } else {
      CHECK(cuMemAlloc(&data_, bytes_));
    }
  }
  ~DeviceVector() {
    if (pool != nullptr) {
      pool->give_back(data_, bytes_);
    } else {
      CHECK(cuMemFree(data_));  // PLANTED: cfd-free
    }
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  CUdeviceptr data() const { return data_; }
  size_t words() const { return bytes_ / 4; }

 private:
  CUdeviceptr data_ = 0;
  size_t bytes_;
};

class Flow {
 public:
  explicit Flow(example::Gpu& gpu) : gpu_(gpu), report_(example::pinned_floats(kCells)) {
    for (CUdeviceptr* field : {&velocity_, &next_velocity_, &force_, &wall_}) {
      CHECK(cuMemAlloc(field, kCells * sizeof(float)));
    }
    gpu_.fill(velocity_, 0, kCells, 0);
    gpu_.fill(force_, 0x3e800000, kCells, 0);  // 0.25
    gpu_.fill(wall_, 0x3d800000, kCells, 0);   // 0.0625
  }

  void step(int number) {
    advect();
    boundary_ += example::host_work(300, boundary_);
    mark_cells(number);
    boundary_ += example::host_work(300, boundary_);
    project();
    boundary_ += example::host_work(300, boundary_);
  }

  // The CPU reads the velocity that it copies back, at once: this wait is needed.
  void report(int step) {
    CHECK(cuMemcpyDtoH(report_, velocity_, kCells * sizeof(float)));
    std::printf("step %d: mean velocity %.6f, checksum %016llx\n", step, example::mean(report_, kCells),
                static_cast<unsigned long long>(example::checksum(report_, kCells)));
  }

  double boundary() const { return boundary_; }

 private:
  void advect() {
    DeviceVector<float> flux(kCells);
    gpu_.add(flux.data(), force_, wall_, kCells, 250);
    gpu_.add(next_velocity_, velocity_, flux.data(), kCells, 250);
    std::swap(velocity_, next_velocity_);
    boundary_ += example::host_work(300, boundary_);
  }

  void mark_cells(int number) {
    DeviceVector<uint32_t> inside(kCells);
    gpu_.fill(inside.data(), static_cast<uint32_t>(number), inside.words(), 350);
    boundary_ += example::host_work(200, boundary_);
  }

  void project() {
    DeviceVector<double> pressure(kCells);
    gpu_.fill(pressure.data(), 0, pressure.words(), 200);
    gpu_.copy(pressure.data(), velocity_, kCells, 300);
    boundary_ += example::host_work(350, boundary_);
  }

  example::Gpu& gpu_;
  float* report_;
  CUdeviceptr velocity_ = 0, next_velocity_ = 0, force_ = 0, wall_ = 0;
  double boundary_ = 0.5;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Solves a flow on a grid with temporary vectors on the GPU.", 500);
  Pool pool_of_fixed;
  if (options.fixed) pool = &pool_of_fixed;
  example::Gpu gpu;
  Flow flow(gpu);
  for (int i = 1; i <= options.iterations; ++i) {
    flow.step(i);
    if (i % kReportEvery == 0 || i == options.iterations) flow.report(i);
  }
  std::printf("cfd: %d steps, boundary %.9f\n", options.iterations, flow.boundary());
  return 0;
}
