// A simulation step that moves more data than it has to: one problem of each kind that transfers and
// allocations can have.
//
// Every step clears its parameters on the device and overwrites them at once; sends a table that never
// changes, because its kernel works on it in place, into two buffers in turn; sends a block asynchronously,
// but from pageable memory; brings a result to the host for its checksum and sends it back unchanged; keeps a
// log on the host that nobody reads; and allocates scratch memory that nothing uses.
// --fixed: none of these; the table is copied on the device, and the block lies in pinned memory.

#include <cstring>
#include <vector>

#include "../common/gpu.h"

namespace {

constexpr size_t kWords = 32 * 1024;
constexpr size_t kBytes = kWords * sizeof(float);
constexpr size_t kBlockWords = 512 * 1024;
constexpr size_t kBlockBytes = kBlockWords * sizeof(float);
constexpr int kReportEvery = 20;

class Simulation {
 public:
  Simulation(example::Gpu& gpu, bool fixed) : gpu_(gpu), fixed_(fixed) {
    CHECK(cuStreamCreate(&stream_, CU_STREAM_DEFAULT));
    for (CUdeviceptr* memory : {&parameters_, &tables_[0], &tables_[1], &kept_, &state_, &result_})
      CHECK(cuMemAlloc(memory, kBytes));
    for (CUdeviceptr* memory : {&block_, &sum_}) CHECK(cuMemAlloc(memory, kBlockBytes));
    block_host_ = example::pinned_floats(kBlockWords);
    parameters_host_ = example::pinned_floats(kWords);
    for (size_t i = 0; i < kWords; ++i) table_host_[i] = 0.25f * static_cast<float>(i % 1000);
    for (size_t i = 0; i < kBlockWords; ++i) block_pageable_[i] = 0.5f * static_cast<float>(i % 100);
    std::memcpy(block_host_, block_pageable_.data(), kBlockBytes);
    if (fixed_) CHECK(cuMemcpyHtoD(kept_, table_host_.data(), kBytes));
  }

  void step(int number) {
    weights_ += example::host_work(150, weights_);
    send_parameters(number);
    send_table(tables_[number % 2]);
    send_block(number);
    use_scratch();
    gpu_.add(tables_[number % 2], tables_[number % 2], parameters_, kWords, 100, stream_);
    gpu_.add(sum_, block_, block_, kBlockWords, 50, stream_);
    keep_state(tables_[number % 2]);
    gpu_.add(result_, state_, parameters_, kWords, 80, stream_);
    if (!fixed_) CHECK(cuMemcpyDtoH(log_.data(), result_, kBytes));  // PLANTED: transfers-log
    CHECK(cuMemcpyDtoH(result_host_.data(), result_, kBytes));
    mean_ = example::mean(result_host_.data(), kWords);
  }

  void report(int number) const {
    std::printf("step %d: mean %.6f, checksum %016llx\n", number, mean_,
                static_cast<unsigned long long>(checksum_));
  }
  double weights() const { return weights_; }

 private:
  void send_parameters(int number) {
    static const std::vector<float> zeros(kWords, 0.0f);
    for (size_t i = 0; i < kWords; ++i) parameters_host_[i] = static_cast<float>(number) + 0.125f * (i % 8);
    if (!fixed_) CHECK(cuMemcpyHtoD(parameters_, zeros.data(), kBytes));  // PLANTED: transfers-cleared
    CHECK(cuMemcpyHtoDAsync(parameters_, parameters_host_, kBytes, stream_));
  }

  void send_table(CUdeviceptr table) {
    if (fixed_)
      CHECK(cuMemcpyDtoDAsync(table, kept_, kBytes, stream_));
    else
      CHECK(cuMemcpyHtoD(table, table_host_.data(), kBytes));  // PLANTED: transfers-table
  }

  void send_block(int number) {
    if (fixed_) {
      block_host_[0] = static_cast<float>(number);
      CHECK(cuMemcpyHtoDAsync(block_, block_host_, kBlockBytes, stream_));
    } else {
      block_pageable_[0] = static_cast<float>(number);
      const float* block = block_pageable_.data();
      CHECK(cuMemcpyHtoDAsync(block_, block, kBlockBytes, stream_));  // PLANTED: transfers-block
    }
  }

  void use_scratch() {
    if (fixed_) return;
    CUdeviceptr scratch = 0;
    CHECK(cuMemAlloc(&scratch, kBytes));  // PLANTED: transfers-scratch
    CHECK(cuMemFree(scratch));            // PLANTED: transfers-scratch-free
  }

  void keep_state(CUdeviceptr table) {
    // The CPU reads it at once: this copy is needed.
    CHECK(cuMemcpyDtoH(state_host_.data(), table, kBytes));
    checksum_ = checksum_ * 31 + example::checksum(state_host_.data(), kWords);
    if (fixed_)
      CHECK(cuMemcpyDtoDAsync(state_, table, kBytes, stream_));
    else
      CHECK(cuMemcpyHtoD(state_, state_host_.data(), kBytes));  // PLANTED: transfers-back
  }

  example::Gpu& gpu_;
  bool fixed_;
  CUstream stream_ = nullptr;
  CUdeviceptr parameters_ = 0, tables_[2] = {}, kept_ = 0, state_ = 0, result_ = 0, block_ = 0, sum_ = 0;
  std::vector<float> table_host_ = std::vector<float>(kWords), state_host_ = std::vector<float>(kWords),
                     result_host_ = std::vector<float>(kWords), log_ = std::vector<float>(kWords),
                     block_pageable_ = std::vector<float>(kBlockWords);
  float *parameters_host_ = nullptr, *block_host_ = nullptr;
  double mean_ = 0, weights_ = 0.5;
  uint64_t checksum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Options options = example::parse_options(
      argc, argv, "Runs steps of a simulation that moves more data than it has to.", 400);
  example::Gpu gpu;
  Simulation simulation(gpu, options.fixed);
  for (int i = 1; i <= options.iterations; ++i) {
    simulation.step(i);
    if (i % kReportEvery == 0 || i == options.iterations) simulation.report(i);
  }
  std::printf("transfers: %d steps, weights %.9f\n", options.iterations, simulation.weights());
  return 0;
}
