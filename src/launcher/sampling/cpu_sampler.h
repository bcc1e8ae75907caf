// Samples of the CPU, from outside of the program: perf events of the kernel (a software clock of each task's CPU time), 200 a
// second of each busy thread, with registers and 8 KiB of stack, written to a file as they come (trace/cpu_samples.h).
// Nothing is added to the program: the events are opened on this thread, inherited by what it starts from then on,
// and begin to count when that executes the program. Source: perf_event_open(2).
//
// The kernel may refuse (kernel.perf_event_paranoid above 2, containers): then problem() says so, and there are none.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace diogenes::launcher {

class CpuSampler {
 public:
  // Both are called on the reading thread: whether somebody wants to be told of each sample right behind it, and then for each.
  // Else samples are read 20 times a second.
  struct AtSample {
    std::function<bool()> is_wanted;
    std::function<void(uint32_t pid, uint32_t tid)> call;
  };
  explicit CpuSampler(std::filesystem::path file, AtSample at_sample = {})
      : path_(std::move(file)), at_sample_(std::move(at_sample)) {}
  ~CpuSampler() { stop(); }
  CpuSampler(const CpuSampler&) = delete;
  CpuSampler& operator=(const CpuSampler&) = delete;

  // Before the program is started, on the thread that does. False: they are refused.
  bool start();
  // After the program has ended. Once.
  void stop();

  // Why there are no samples, and what to do, in one sentence; "": there are.
  const std::string& problem() const { return problem_; }
  uint64_t taken() const { return taken_; }
  uint64_t lost() const { return lost_; }  // by a buffer that was full, or a disk

 private:
  struct Buffer {
    int event = -1;
    void* memory = nullptr;
    size_t bytes = 0;  // of the ring behind the first page
  };

  bool open_on(int processor);
  void read_until_over();
  void read_all();
  void read(Buffer& buffer);
  void take(const std::vector<uint8_t>& record);
  void close_all();

  std::filesystem::path path_;
  std::vector<Buffer> buffers_;
  std::thread reader_;
  AtSample at_sample_;
  bool each_ = false;  // of the reading thread
  std::atomic<bool> over_{false};
  int wakes_ = -1;  // eventfd
  int file_ = -1;
  uint64_t written_ = 0, seen_ = 0, taken_ = 0, lost_ = 0;
  int halvings_ = 0;  // one in 2^n samples is kept
  std::string problem_;
};

}  // namespace diogenes::launcher
