// The program's stdin, stdout and stderr over all runs: its user should notice only one run. The first run
// has our own descriptors; later ones read the same input again, and what they write is kept in the session
// and compared.
//
// stdin    File: opened again at the same offset. Pipe or socket: relayed, and kept in SESSION/stdin as far as the
//          first run read it. Terminals and other devices: the first run's; later runs have an empty input.
// outputs  File: as it is, and read back afterwards. Pipe or socket: relayed byte for byte. Terminals and other devices:
//          the first run's as it is, so it is not known, and the later runs are compared with each other. In place of
//          a terminal these have one of their own, for programs that look whether there is one.
// Where stdout and stderr are one file, pipe or terminal they stay one in every run.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launcher/process/target_process.h"
#include "trace/session.h"

namespace diogenes::launcher {

class StandardStreams {
 public:
  // A session with runs is resumed: its streams are those of its first run, and what that wrote is compared
  // with as far as it was kept.
  StandardStreams(std::filesystem::path folder, const Session& session);
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  // `folder` (exists) gets the copies, in files named stdout and stderr.
  void route(Target& target, const std::filesystem::path& folder);

  // For session.json, once the first run is complete.
  StreamsRecord record() const;

  // After the run. Sentences about what differs, without the run's name: "stdout differs from the first run's
  // at line 3".
  std::vector<std::string> finish(const TargetResult& result);

 private:
  enum class Kind : uint8_t { device, file, stream, terminal };
  struct Output {
    int fd;
    const char* name;
    Kind kind;
    uint64_t begin = 0;  // file: where the first run began to write
    std::unique_ptr<OutputCopy> reference, current;
    bool reference_is_first = false;
  };

  void go_on(const Session& session);
  void route_input(Target& target);
  StreamRoute route_output(Output& output, const std::filesystem::path& folder);
  void read_back(Output& output);

  std::filesystem::path session_;
  Kind input_kind_;
  std::string input_file_;  // what later runs read, from the session's folder; empty: none
  off_t input_begin_ = 0;
  std::unique_ptr<OutputCopy> input_copy_;
  int input_again_ = -1;
  Output output_, errors_;
  bool joined_ = false;  // stdout and stderr are one
  bool first_ = true;
};

}  // namespace diogenes::launcher
