// Where Python is, from outside of the program: the frames of a thread are read from the interpreter's memory by
// process_vm_readv(), as the agent reads them in the program (src/python), right behind each sample of the CPU. Where there are none,
// they are read 200 times a second of each thread that runs. Nothing is added to the program, and no thread of it is stopped: a
// reading may begin at one moment and end at the next, which is seen where it makes no sense, and dropped. A thread is known from
// its first call of the driver on (trace/python_sample_records.h).
//
// The kernel may refuse: then problem() says so.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace diogenes::launcher {

class PythonSampler {
 public:
  // Of all processes whose folders are in this one.
  explicit PythonSampler(std::filesystem::path run_folder);
  ~PythonSampler();
  PythonSampler(const PythonSampler&) = delete;
  PythonSampler& operator=(const PythonSampler&) = delete;

  // By a clock of its own. Else at_sample() is called, by one thread, once there is a process that runs Python.
  void start();
  bool is_wanted();
  void at_sample(uint32_t pid, uint32_t tid);
  // After the program has ended, and the last sample. Once.
  void stop();

  // Why there are no readings of a process that runs Python, in one sentence; "": there are, or none runs it.
  const std::string& problem() const { return problem_; }

 private:
  class Pieces;   // of a file
  class Sampled;  // a process

  void look_for_processes();
  void look_at(const std::filesystem::path& folder);
  void read_all();

  std::filesystem::path folder_;
  std::vector<std::unique_ptr<Sampled>> processes_;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;      // under the mutex
  int64_t looked_ns_ = 0;  // for processes
  std::string problem_;
};

}  // namespace diogenes::launcher
