// Runs a program to its end: what it printed, how it ended, how long it took. For benchmarks and end-to-end
// tests.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace diogenes::bench {

struct ProcessRun {
  int exit_status = 0;     // as a shell tells it: 128+N on a signal, 127 if it could not be started
  bool timed_out = false;  // was killed with its process group after the limit
  double seconds = 0;      // from fork to exit
  std::string output;      // stdout
  std::string errors;      // stderr
};

struct ProcessOptions {
  std::vector<std::string> environment;  // NAME=VALUE, in place of or added to this process's own
  std::string input;                     // stdin
  double limit_s = 120;
};

// Output is kept in files, so that no pipe's reader holds the program up.
ProcessRun run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

// A new folder under the folder for temporary files, removed with all in it at the end of the object's life.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(bool keep = false);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool keep_;
};

}  // namespace diogenes::bench
