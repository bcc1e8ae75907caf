// The program's stdin, stdout and stderr over all runs: its user should notice only one run. The first run
// has our own descriptors; later ones read the same input again, and what they write is kept in the session
// and compared.
//
// stdin    File: opened again at the same offset. Pipe or socket: relayed, and kept in SESSION/stdin as far as the
//          first run read it. Other devices: the first run's; later runs have an empty input.
// outputs  File: as it is, and read back afterwards. Pipe or socket: relayed byte for byte. Other devices: the first
//          run's as it is, so it is not known, and the later runs are compared with each other.
// terminal Where one of the three is a terminal, every run has a pseudo-terminal of the same size and modes in its
//          place (terminal_relay.h). The first run's is joined to the user's; what is typed is kept in
//          SESSION/terminal and played back to later runs (typed_input.h). What is written there is compared, unless
//          the program reads keys: how it draws then depends on times.
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

  // Why a terminal is not recorded; empty: it is, or there is none.
  const std::string& problem() const { return problem_; }

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

  void find_terminal();
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
  bool joined_ = false;                // stdout and stderr are one
  int user_ = -1;                      // the user's terminal
  std::unique_ptr<TypedInput> typed_;  // null: none of the three is a terminal
  TerminalRoute terminal_;
  std::string problem_;
  bool first_ = true;
};

}  // namespace diogenes::launcher
